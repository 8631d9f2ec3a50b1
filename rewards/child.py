"""A grading process: answers one request at a time over a pipe until the pipe closes.

Started as `python -m rewards.child FD MEMORY_BYTES CORRECT_THRESHOLD` by rewards.killable_pool,
which ends it by SIGKILL when a grading takes too long. Here only async graders are timed, so that a
late one is cancelled before its process is killed.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from rewards.registry import call, resolve, to_outcome, warm_up
from rewards.types import Outcome, ScoreRequest, error

_PR_SET_PDEATHSIG = 1
_RECURSION_LIMIT = 3000
_MAX_TRACE_CHARS = 2000

WarmUp = str
"""A reward's name: import it now, so that the first grading's deadline does not pay for it."""


def main() -> None:
    """Serve until the parent closes its end."""
    descriptor, memory_bytes = int(sys.argv[1]), int(sys.argv[2])
    correct_threshold = float(sys.argv[3])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The hard limit stays: the sandbox of `code` has processes with limits of their own.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(_RECURSION_LIMIT)
    os.set_inheritable(descriptor, False)
    pipe: Connection[Any, Any] = Connection(descriptor)
    while True:
        try:
            message: tuple[ScoreRequest, float] | WarmUp = pipe.recv()
        except EOFError:
            return
        if isinstance(message, str):
            pipe.send(_warm_up(message))
        else:
            request, timeout_s = message
            pipe.send(_grade(request, correct_threshold, timeout_s))


def _warm_up(name: str) -> str:
    """Return why a reward can't be used, or nothing."""
    try:
        warm_up(name)
    except Exception as problem:  # a user's module may raise anything when imported
        return f"{type(problem).__name__}: {problem}"
    return ""


def _grade(request: ScoreRequest, correct_threshold: float, timeout_s: float) -> Outcome:
    started = time.perf_counter()
    try:
        result = call(resolve(request.reward), request, timeout_s)
        outcome = _plain(to_outcome(result, correct_threshold))
    except Exception as problem:  # a grader on untrusted text: its fault is an error, never a 0
        outcome = error(
            "exception",
            exception=f"{type(problem).__name__}: {problem}"[:_MAX_TRACE_CHARS],
            trace=traceback.format_exc()[-_MAX_TRACE_CHARS:],
        )
    return replace(outcome, time_s=time.perf_counter() - started)


def _plain(outcome: Outcome) -> Outcome:
    """Make what a grader put there survive the way back and the files: objects become text."""
    return replace(
        outcome,
        correct=bool(outcome.correct),
        value=float(outcome.value),
        detail=json.loads(json.dumps(dict(outcome.detail), default=str)),
    )


if __name__ == "__main__":
    main()
