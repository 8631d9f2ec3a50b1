"""Ends what an engine started when the engine's own process dies, however it dies.

A killed process cannot clean up, and vLLM's engine core does not notice that its parent is gone. So
a small process of its own waits for the end of a pipe that only the parent holds open, then kills
every process that carries the parent's mark in its environment.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

_MARK = "MGPO_ENGINE_MARK"
_PAUSE_S = 0.05


class Reaper:
    """Marks this process's later children and waits, in a process of its own, to end them."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        # Started unmarked, or it would end itself.
        starter = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__, self._mark],
            stdin=subprocess.PIPE,
            start_new_session=True,
            close_fds=True,
        )
        starter.wait()
        self._pipe = starter.stdin
        os.environ[_MARK] = self._mark

    def end_now(self) -> None:
        """End the marked processes, and wait until it is done."""
        reap(self._mark)
        assert self._pipe is not None
        self._pipe.close()


def marked_processes(mark: str) -> list[int]:
    """Return the ids of all processes that were started with the mark."""
    entry = f"{_MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # gone meanwhile, or another user's
            continue
        if entry in variables:
            found.append(int(folder.name))
    return found


def reap(mark: str) -> None:
    """Kill until nothing with the mark is left."""
    while pids := marked_processes(mark):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    # Nobody's child: Ray, too, kills the children of an actor that it ends, and this one first.
    if os.fork():
        os._exit(0)
    sys.stdin.buffer.read()  # returns when the last holder of the pipe is gone
    reap(sys.argv[1])
