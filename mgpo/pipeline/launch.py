"""A stage as a process of its own: what it holds is free when it ends, however it ends."""

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from mgpo.config.errors import Interrupted, StageFailed, UserError
from mgpo.config.stage import StageConfig
from mgpo.pipeline.steps import Step
from mgpo.tracking.lock import RunLock
from mgpo.tracking.run_dir import RunPaths

logger = logging.getLogger(__name__)

_INTERRUPTED = 130
_PR_SET_PDEATHSIG = 1
_SAVING_PATIENCE_S = 600.0
_POLL_S = 2.0
_LAST_WORDS_S = 5.0
_KEPT_LINES = 200


def launch_stage(step: Step) -> str:
    """Run a stage to its end, show what it prints, and return it.

    Raises Interrupted if the stage was asked to stop, StageFailed if it ended otherwise.
    """
    wait_until_free(step)
    command = [sys.executable, "-m", "mgpo", step.stage, str(step.path), *step.overrides]
    code, printed = run_process(command, step.name)
    if code != 0:
        how = f"code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        raise StageFailed(f"{step.name} ended with {how}; see above", max(1, code))
    return printed.rstrip()


def run_process(command: Sequence[str], name: str) -> tuple[int, str]:
    """Run a command to its end; return its exit code (negative: the signal) and its last lines.

    A signal to this process goes to the command; so does the death of this process. Raises
    Interrupted if one came and the command ended of it, OSError if it cannot be started.
    """
    parent = os.getpid()
    # A session of its own: Ctrl-C reaches it once, through us.
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=lambda: _end_with(parent),
    )
    printed: deque[str] = deque(maxlen=_KEPT_LINES)
    reader = threading.Thread(target=_show, args=(child, printed), daemon=True)
    reader.start()
    with _forwarded_signals(child) as received:
        code = child.wait()
    reader.join(_LAST_WORDS_S)  # what it left behind may hold the pipe open
    if code == _INTERRUPTED or (code != 0 and received):
        raise Interrupted(f"{name}: interrupted")
    return code, "".join(printed)


def _show(child: "subprocess.Popen[str]", printed: deque[str]) -> None:
    """Read to the end whatever happens: a full pipe would hold the child up for ever."""
    assert child.stdout is not None
    for line in child.stdout:
        printed.append(line)
        with contextlib.suppress(OSError):  # nobody reads ours any more
            print(line, end="", flush=True)


def wait_until_free(step: Step) -> None:
    """A stage whose pipeline was killed is still saving its state: let it end."""
    if not isinstance(step.config, StageConfig):
        return
    lock_path = RunPaths(step.config.run.path).lock_path
    deadline = time.monotonic() + _SAVING_PATIENCE_S
    while lock_path.is_file():
        try:
            RunLock(lock_path).release()
            return
        except UserError:
            if time.monotonic() > deadline:
                raise
            logger.info("%s: waiting for an earlier launch to end", step.name)
            time.sleep(_POLL_S)


@contextmanager
def _forwarded_signals(child: "subprocess.Popen[str]") -> Iterator[list[int]]:
    """Pass SIGINT and SIGTERM on to the child; yields those that came."""
    received: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        received.append(number)
        child.send_signal(number)

    previous = {
        number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _end_with(parent: int) -> None:
    """Ask the kernel for a SIGTERM when the parent dies; runs in the child before the command."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has died in the meantime
        os._exit(_INTERRUPTED)
