"""Judges as many programs at a time as there are cores. The entry point of the package."""

import asyncio
import json
import marshal
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sandbox import languages
from sandbox.config import SandboxConfig
from sandbox.framing import receive, send
from sandbox.isolation import cgroups
from sandbox.isolation.tiers import TierReport, WeakSandboxError, require
from sandbox.types import Judgement, Limits, Submission, Test, TestResult

_BOOT = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from sandbox import judge_process; judge_process.main()"
)
_MAX_DEATHS = 3  # of judges, over one submission
_WINDOW = 1000  # programs of a stream that may wait behind a slow one
_PROBE_MB = 512  # of the control group that is tried first
_FULL_S = 0.005  # between two looks at a full queue


class Sandbox:
    """A pool of judges, each a process with zygotes of its own.

    Threads may share it. Not to be used in a process that was forked from the one that made it.
    """

    def __init__(self, config: SandboxConfig | None = None):
        """Start one judge, witness the isolation, then start the others.

        Raises WeakSandboxError when this machine is too weak, or the control groups do not hold.
        """
        config = config or SandboxConfig()
        self._queue: queue.Queue[tuple[Submission, bytes, Future[Judgement]] | None] = queue.Queue(
            config.max_queued or 4 * config.workers
        )
        self.report = _witnessed(config.tier)
        require(self.report, allow_weak=config.allow_weak_sandbox)
        self._config = config
        if config.cgroup is not None:
            _witness_cgroup(config, self.report.tier)
        self._is_closed = False
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._serve, name=f"judge {number}", daemon=True)
            for number in range(config.workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, submission: Submission) -> Future[Judgement]:
        """Queue a program; blocks while the queue is full.

        Raises ValueError for a language that is not here or a value that is not plain data,
        RuntimeError once closed.
        """
        languages.check(submission.language, self.report.tier)
        request = marshal.dumps({"judge": submission.to_row()})
        future: Future[Judgement] = Future()
        while True:
            with self._lock:  # nothing is queued behind the end of the queue
                if self._is_closed:
                    raise RuntimeError("the sandbox is closed")
                with suppress(queue.Full):
                    self._queue.put_nowait((submission, request, future))
                    return future
            time.sleep(_FULL_S)

    def judge(self, submissions: Iterable[Submission]) -> list[Judgement]:
        """Judge programs and return the judgements in their order."""
        return list(self.judge_each(submissions))

    def judge_each(self, submissions: Iterable[Submission]) -> Iterator[Judgement]:
        """Judge a stream of programs in its order, taking little more from it than is judged."""
        pending: deque[Future[Judgement]] = deque()
        for submission in submissions:
            if len(pending) >= _WINDOW:
                yield pending.popleft().result()
            pending.append(self.submit(submission))
        while pending:
            yield pending.popleft().result()

    async def judge_async(self, submission: Submission) -> Judgement:
        """Judge one program without blocking the event loop."""
        future = await asyncio.to_thread(self.submit, submission)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Judge what is queued, then end all processes."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        for _ in () if was_closed else self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _serve(self) -> None:
        """Feed one judge, and start another when it dies. Its parent is this thread."""
        judge: _JudgeProcess | None = None
        while (item := self._queue.get()) is not None:
            submission, request, future = item
            if not future.set_running_or_notify_cancel():
                continue
            row, fault = None, ""
            for _ in range(1 + _MAX_DEATHS):
                try:
                    judge = judge or _JudgeProcess(self.report.tier, self._config)
                    row = judge.ask(request)
                except OSError as error:  # no process could be started
                    fault = f": {error}"
                if row is not None:
                    break
                if judge:
                    judge.close()
                judge = None
            detail = f"{1 + _MAX_DEATHS} judges died over it{fault}"
            future.set_result(
                Judgement.from_row(row) if row else failed(submission, self.report.tier, detail)
            )
        if judge:
            judge.close()


def failed(submission: Submission, tier: str, detail: str) -> Judgement:
    """Make the judgement of a submission that could not be judged."""
    result = TestResult(verdict="SE", detail=detail)
    return Judgement(
        id=submission.id,
        verdict="SE",
        tests=[result] * len(submission.tests),
        time_s=0.0,
        tier=tier,
        seed=submission.seed,
    )


def _witnessed(tier: str) -> TierReport:
    """Ask a judge of its own which tier works here."""
    judge = _JudgeProcess(None)
    try:
        answer = judge.ask(marshal.dumps({"witness": tier}))
        if answer is None:
            raise RuntimeError("the sandbox's judge ended at its start")
        return TierReport(answer["tier"], answer["faults"])
    finally:
        judge.close()


def _witness_cgroup(config: SandboxConfig, tier: str) -> None:
    """See that a group ends what takes more than it may. Raises WeakSandboxError."""
    code = f"print(len(b'x' * {_PROBE_MB << 21}))"
    probe = Submission(
        code=code, tests=[Test(input="", output="")], limits=Limits(time_s=20.0, memory_mb=2048)
    )
    try:
        judge = _JudgeProcess(tier, replace(config, cgroup_memory_mb=_PROBE_MB))
    except OSError as error:
        raise WeakSandboxError(f"sandbox.cgroup: {error}") from None
    try:
        answer = judge.ask(marshal.dumps({"judge": probe.to_row()}))
    finally:
        judge.close()
    seen = answer["tests"][0] if answer else {"detail": "no judge could be started in it"}
    if seen.get("signal") != signal.SIGKILL:
        raise WeakSandboxError(
            f"sandbox.cgroup: under {config.cgroup}, in a group of {_PROBE_MB} MB, a program that "
            f"takes {2 * _PROBE_MB} MB was not ended: {seen}"
        )


class _JudgeProcess:
    def __init__(self, tier: str | None, config: SandboxConfig | None = None):
        self._channel, theirs = socket.socketpair()
        root = str(Path(__file__).resolve().parent.parent)
        self._group: Path | None = None
        if config and config.cgroup is not None:
            self._group = cgroups.create(Path(config.cgroup), config.cgroup_memory_mb)
        groups = [str(self._group)] if self._group else []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOT, root, str(theirs.fileno()), *groups],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        if tier is not None:
            self.ask(marshal.dumps({"open": tier}))

    def ask(self, request: bytes) -> dict[str, Any] | None:
        """Return the answer, None when the judge died."""
        try:
            send(self._channel, request)
        except OSError:
            return None
        answer = receive(self._channel)
        return None if answer is None else json.loads(answer)

    def close(self) -> None:
        self._channel.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._group:
            cgroups.remove(self._group)
