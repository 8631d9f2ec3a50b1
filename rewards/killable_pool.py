"""Grading processes that can be killed: a deadline that holds whatever a grader does.

Each process has a thread of the parent that sends it one request at a time, waits on the pipe, and
kills and replaces it when the deadline passes. No signals, no fork: any thread, asyncio or Ray
actor may use it.
"""

import contextlib
import logging
import os
import pickle
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from rewards.config import RewardConfig
from rewards.gather import gather
from rewards.registry import WEIGHTED, decide_cheaply
from rewards.types import ALLOW_WEAK_SANDBOX, Outcome, ScoreRequest, error
from rewards.weighted import split

logger = logging.getLogger(__name__)

KILL_GRACE_S = 0.5
"""From the deadline to the kill: an async grader is cancelled at its deadline by the child."""
_WARM_UP_S = 120.0
_STALL_S = 30.0
"""Longest that a message may stand half sent: the other side has stopped."""
_MEMORY_BYTES = 4 * 2**30
_MAX_TRIES = 2


@dataclass(frozen=True, slots=True)
class _Job:
    """A request, as it is and as it is sent, its deadline, and the promise of its outcome."""

    request: ScoreRequest
    message: bytes
    timeout_s: float
    future: "Future[Outcome]"


@dataclass(frozen=True, slots=True)
class _ChildSettings:
    correct_threshold: float
    environment: Mapping[str, str]


class KillablePool:
    """A fixed number of grading processes behind one queue."""

    def __init__(
        self,
        num_processes: int,
        timeout_s: float,
        correct_threshold: float,
        timeouts_s: Mapping[str, float] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`timeouts_s` has the deadlines of the rewards whose own differs from `timeout_s`,
        `environment` what the processes have beside this one's."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._timeout_s = timeout_s
        self._timeouts_s = timeouts_s or {}
        self._is_closed = False
        self._lock = threading.Lock()
        settings = _ChildSettings(correct_threshold, environment or {})
        self._lanes = [_Lane(self._jobs, settings) for _ in range(num_processes)]

    @classmethod
    def from_config(cls, config: RewardConfig) -> "KillablePool":
        """Make the pool of one worker."""
        return cls(
            config.processes_per_worker,
            config.timeout_s,
            config.correct_threshold,
            config.timeouts_s,
            environment={ALLOW_WEAK_SANDBOX: "1"} if config.allow_weak_sandbox else {},
        )

    def submit(self, request: ScoreRequest) -> "Future[Outcome]":
        """Queue one request; unless cancelled, the future gets an Outcome, in bounded time.

        What is decided cheaply is decided here and now. The parts of a weighted sum are submitted
        one by one, and can't be cancelled.

        Raises what pickle raises for a request that can't be sent.
        """
        if request.reward == WEIGHTED:
            return self._submit_sum(request)
        future: Future[Outcome] = Future()
        outcome = decide_cheaply(request)
        if outcome is not None:
            future.set_result(outcome)
            return future
        timeout_s = self._timeouts_s.get(request.reward, self._timeout_s)
        job = _Job(request, pickle.dumps((request, timeout_s)), timeout_s, future)
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the grading pool is closed")
            self._jobs.put(job)
        return future

    def _submit_sum(self, request: ScoreRequest) -> "Future[Outcome]":
        try:
            total = split(request)
        except ValueError as mistake:
            future: Future[Outcome] = Future()
            future.set_result(error("bad_reference", problem=str(mistake)))
            return future
        return gather([self.submit(each) for each in total.requests()], total.combine)

    def take_restarts(self) -> int:
        """Return how many processes were killed or died since the last call."""
        return sum(lane.take_restarts() for lane in self._lanes)

    def close(self) -> None:
        """End every process at once; what is queued or being graded becomes an error."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        with contextlib.suppress(queue.Empty):
            while (job := self._jobs.get_nowait()) is not None:
                if job.future.set_running_or_notify_cancel():
                    job.future.set_result(error("closed"))
        for lane in self._lanes:
            self._jobs.put(None)
            lane.stop()
        for lane in self._lanes:
            lane.join()


class _Lane:
    """A thread and the process it feeds; the process starts with the first request."""

    def __init__(self, jobs: "queue.SimpleQueue[_Job | None]", settings: _ChildSettings) -> None:
        self._jobs = jobs
        self._settings = settings
        self._lock = threading.Lock()
        """Held while the process starts or ends, so that `stop` never meets half of it."""
        self._child: _Child | None = None
        self._is_stopping = False
        self._restarts = 0
        self._thread = threading.Thread(target=self._serve, daemon=True, name="grader")
        self._thread.start()

    def take_restarts(self) -> int:
        """Return how many processes were killed or died since the last call."""
        with self._lock:
            count, self._restarts = self._restarts, 0
        return count

    def stop(self) -> None:
        """Kill the process, so that the thread stops waiting for it."""
        with self._lock:
            self._is_stopping = True
            if self._child is not None:
                self._child.kill()

    def join(self) -> None:
        """Wait for the thread's end."""
        self._thread.join()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                job.future.set_result(self._answer(job))
        self._discard()

    def _answer(self, job: _Job) -> Outcome:
        # A process that died by itself may have died of an earlier request, so there is a second
        # try; never after a kill for lateness.
        for _ in range(_MAX_TRIES):
            try:
                child = self._ready_child()
            except Exception as problem:  # the lane must live: its futures have to be answered
                return error("no_process", problem=f"{type(problem).__name__}: {problem}")
            if child is None:
                break
            outcome = child.grade(job)
            if outcome is None or child.is_spent:
                self._discard()
            if outcome is not None:
                return outcome
        with self._lock:
            return error("closed" if self._is_stopping else "crashed", item=job.request.item_id)

    def _ready_child(self) -> "_Child | None":
        """Return the running process or a new one; None when stopping."""
        with self._lock:
            if self._is_stopping:
                return None
            if self._child is None:
                self._child = _Child(self._settings)
            return self._child

    def _discard(self) -> None:
        with self._lock:
            if self._child is not None:
                self._child.end()
                self._child = None
                self._restarts += 1


class _Child:
    """One grading process and the parent's end of its pipe."""

    def __init__(self, settings: _ChildSettings) -> None:
        ours, theirs = socket.socketpair()
        with theirs, ours:
            stall = struct.pack("ll", int(_STALL_S), int(_STALL_S % 1 * 1e6))
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, stall)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, stall)
            # -P: only the parent's sys.path, not the working directory before it.
            command = [sys.executable, "-P", "-m", "rewards.child", str(theirs.fileno())]
            self._process = subprocess.Popen(
                [*command, str(_MEMORY_BYTES), str(settings.correct_threshold)],
                pass_fds=[theirs.fileno()],
                env={
                    **os.environ,
                    **settings.environment,
                    "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._pipe: Connection[Any, Any] = Connection(ours.detach())
        self._warm: set[str] = set()
        self.is_spent = False
        """It is late: it must be killed."""

    def grade(self, job: _Job) -> Outcome | None:
        """Return the outcome, or None if the process died by itself."""
        request, timeout_s = job.request, job.timeout_s
        if request.reward not in self._warm:
            problem = self._ask(pickle.dumps(request.reward), _WARM_UP_S)
            if self.is_spent:
                return error("timeout", waited_s=_WARM_UP_S, waited_for="import of the reward")
            if problem is None:
                return None
            if problem:
                return error("bad_reward", problem=problem)
            self._warm.add(request.reward)
        started = time.monotonic()
        outcome = self._ask(job.message, timeout_s + KILL_GRACE_S)
        if self.is_spent:
            logger.warning(
                "killed the grading of %s by reward %s after %.1f s (reward.timeout_s)",
                request.item_id or "an item",
                request.reward,
                time.monotonic() - started,
            )
            late = error("timeout", item=request.item_id, waited_s=timeout_s)
            return replace(late, time_s=time.monotonic() - started)
        return outcome  # type: ignore[no-any-return]

    def _ask(self, message: bytes, timeout_s: float) -> Any:
        """Return the answer; None if the process died or (then it `is_spent`) is late."""
        try:
            self._pipe.send_bytes(message)
            if self._pipe.poll(timeout_s):
                return self._pipe.recv()
        except (EOFError, OSError):
            return None
        except Exception:  # a grader made an answer that can't be read: its process starts anew
            logger.exception("the answer of a grading process can't be read")
            return None
        self.is_spent = True
        return None

    def kill(self) -> None:
        """Kill the process and everything it started. Only until `end`: ids are used again."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill, reap, and close the pipe."""
        self.kill()
        self._process.wait()
        self._pipe.close()
