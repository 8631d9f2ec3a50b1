"""A judge's server: real HTTP on a local port, with answers from a function of the test."""

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Reply = tuple[int, bytes]
"""HTTP status and body."""


class FakeJudge:
    """Serves until the `with` block ends; `reply(body, number)` answers request `number` (0, ...).

    A reply that is None never comes: the connection stays open, a byte at a time.
    """

    def __init__(self, reply: Callable[[dict[str, Any], int], Reply | None]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._is_over = threading.Event()
        lock = threading.Lock()
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(judge.bodies)
                    judge.bodies.append(body)
                    judge.headers.append(
                        {key.lower(): value for key, value in self.headers.items()}
                    )
                    judge._at_once += 1
                    judge.most_at_once = max(judge.most_at_once, judge._at_once)
                answer = reply(body, number)
                with lock:
                    judge._at_once -= 1
                if answer is None:
                    self._drip()
                    return
                self.send_response(answer[0])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer[1])))
                self.end_headers()
                self.wfile.write(answer[1])

            def _drip(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                try:
                    while not judge._is_over.wait(0.1):
                        self.wfile.write(b" ")
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "FakeJudge":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._server.shutdown()
        self._server.server_close()

    def user_message(self, number: int = -1) -> str:
        """What the judge was asked in request `number`."""
        return str(self.bodies[number]["messages"][1]["content"])


def completion(content: Any, finish_reason: str = "stop", **message: Any) -> Reply:
    """An answer as servers send it, of 100 tokens in and 10 out."""
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return 200, json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode()


def refusal(status: int, message: str) -> Reply:
    """An error as servers send it."""
    return status, json.dumps({"error": {"message": message, "code": status}}).encode()


def criteria(body: dict[str, Any]) -> dict[str, str]:
    """The criteria that the judge is asked about, by key."""
    user = body["messages"][1]["content"]
    return dict(re.findall(r"^(c\d+): (.*)$", user.split("\nThe response, between")[0], re.M))


def response(body: dict[str, Any]) -> str:
    """What stands between the markers."""
    user = body["messages"][1]["content"]
    found = re.search(r"^\[(\w+) \w+ begins\]\n(.*)\n\[\1 \w+ ends\]$", user, re.M | re.S)
    assert found is not None
    return found.group(2)


def honest(body: dict[str, Any], number: int) -> Reply:
    """Find `says X` met by a response that holds X; `if X` does not apply."""
    text, answer = response(body), {}
    for key, criterion in criteria(body).items():
        word = criterion.split()[-1].strip(".")
        if criterion.startswith("if "):
            answer[key] = {"quote": "", "verdict": "not_applicable"}
        elif word in text:
            answer[key] = {"quote": word, "verdict": "yes"}
        else:
            answer[key] = {"quote": "", "verdict": "no"}
    return completion(answer)


def slow(body: dict[str, Any], number: int) -> Reply:
    """Be honest after a moment."""
    time.sleep(0.2)
    return honest(body, number)
