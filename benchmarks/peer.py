"""Another project's side of a benchmark: a process with an environment of its own, which waits for
a line before each step and answers it with one of JSON."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from parts import rest

Step = dict[str, Any]


class Peer:
    """A process that has read its settings and is ready for the first step."""

    def __init__(
        self,
        stack: ExitStack,
        command: Sequence[str],
        settings: Mapping[str, Any],
        environment: Mapping[str, str],
        *,
        verbose: bool,
    ) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            env=dict(environment),
        )
        stack.callback(self._end)
        self._write(json.dumps(settings))
        self._read()

    def step(self) -> Step:
        """Let it make its next step."""
        rest()
        self._write("")
        return self._read()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> Step:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise SystemExit("the peer's process ended: --verbose shows what it wrote")
        answer: Step = json.loads(line)
        return answer

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
