"""Grading processes that can be killed: a deadline that holds whatever a grader does.

Each process has a thread of the parent that sends it one request at a time, waits on the pipe, and
kills and replaces it when the deadline passes. No signals, no fork: any thread, asyncio or Ray
actor may use it.
"""

import contextlib
import logging
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from rewards.types import Outcome, ScoreRequest, error

logger = logging.getLogger(__name__)

_MEMORY_BYTES = 4 * 2**30
_WARM_UP_S = 120.0
_Job = tuple[ScoreRequest, "Future[Outcome]"]


class KillablePool:
    """A fixed number of grading processes behind one queue."""

    def __init__(self, num_processes: int, timeout_s: float, correct_threshold: float) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._is_closed = False
        self._lock = threading.Lock()
        self._restarts = 0
        self._lanes = [
            threading.Thread(
                target=self._serve, args=(timeout_s, correct_threshold), daemon=True, name="grader"
            )
            for _ in range(num_processes)
        ]
        for lane in self._lanes:
            lane.start()

    def submit(self, request: ScoreRequest) -> "Future[Outcome]":
        """Queue one request; the future always gets an Outcome, in bounded time per request."""
        future: Future[Outcome] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the grading pool is closed")
            self._jobs.put((request, future))
        return future

    def take_restarts(self) -> int:
        """Return how many processes were replaced since the last call."""
        with self._lock:
            count, self._restarts = self._restarts, 0
        return count

    def close(self) -> None:
        """End every process; what was still queued becomes an error."""
        with self._lock:
            self._is_closed = True
        with contextlib.suppress(queue.Empty):
            while (job := self._jobs.get_nowait()) is not None:
                job[1].set_result(error("closed"))
        for _ in self._lanes:
            self._jobs.put(None)
        for lane in self._lanes:
            lane.join()

    def _serve(self, timeout_s: float, correct_threshold: float) -> None:
        child = _Child(correct_threshold)
        try:
            while (job := self._jobs.get()) is not None:
                request, future = job
                outcome = child.grade(request, timeout_s)
                if outcome is None:
                    # Perhaps it died of what came before: the request has one more try.
                    child = self._replaced(child, correct_threshold)
                    outcome = child.grade(request, timeout_s)
                if outcome is None or child.is_spent:
                    child = self._replaced(child, correct_threshold)
                future.set_result(outcome or error("crashed", item=request.item_id))
        finally:
            child.kill()

    def _replaced(self, child: "_Child", correct_threshold: float) -> "_Child":
        child.kill()
        with self._lock:
            self._restarts += 1
        return _Child(correct_threshold)


class _Child:
    """One grading process and the parent's end of its pipe."""

    def __init__(self, correct_threshold: float) -> None:
        ours, theirs = socket.socketpair()
        self._pipe: Connection[Any, Any] = Connection(ours.detach())
        command = [sys.executable, "-m", "rewards.child", str(theirs.fileno())]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path),
        }
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(_MEMORY_BYTES), str(correct_threshold)],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._warm: set[str] = set()
        self.is_spent = False
        """It was killed, or must be: don't use it again."""

    def grade(self, request: ScoreRequest, timeout_s: float) -> Outcome | None:
        """Return the outcome, or None if the process died by itself."""
        if request.reward not in self._warm:
            problem = self._ask(request.reward, _WARM_UP_S)
            if problem is None or self.is_spent:
                return error("timeout", waited_s=_WARM_UP_S) if self.is_spent else None
            if problem:
                return error("bad_reward", problem=problem)
            self._warm.add(request.reward)
        started = time.monotonic()
        outcome = self._ask(request, timeout_s)
        if self.is_spent:
            logger.warning(
                "killed the grading of %s by reward %s after %.1f s (reward.timeout_s)",
                request.item_id or "an item",
                request.reward,
                time.monotonic() - started,
            )
            waited_s = time.monotonic() - started
            return replace(error("timeout", item=request.item_id), time_s=waited_s)
        return outcome  # type: ignore[no-any-return]

    def _ask(self, message: Any, timeout_s: float) -> Any:
        """Return the answer; None if the process died, or (`is_spent`) was killed for lateness."""
        try:
            self._pipe.send(message)
            if self._pipe.poll(timeout_s):
                return self._pipe.recv()
        except Exception:  # a dead process, or an answer that can't be read: either way start anew
            logger.exception("a grading process failed")
            return None
        self.is_spent = True
        self.kill()
        return None

    def kill(self) -> None:
        """End the process and everything it started, and close the pipe."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        self._pipe.close()
