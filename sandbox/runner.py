"""Runs one confined child through a zygote and collects all it says, within bounds."""

import fcntl
import json
import marshal
import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sandbox.isolation import namespaces
from sandbox.isolation.confinement import ProcessLimits
from sandbox.protocol import KILL, Ended, RunRequest, ZygoteSettings

_BOOT = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from sandbox import zygote; sys.path.pop(); zygote.main()"
)
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/box",
    "TMPDIR": "/box",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_STACK_BYTES = 2**30  # what the address space below the main thread's stack leaves room for
_RUNS_PER_ZYGOTE = 5000
_START_TIMEOUT_S = 60.0
_MESSAGE_BYTES = 65536
_CHUNK_BYTES = 2**20
_STDERR_BYTES = 8192
_GRACE_S = 30.0
_FIRST_UID, _NUM_UIDS, _UIDS_PER_JUDGE = 60_000, 5_000, 1_000
_ALL_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_zygotes = count()


class SandboxFault(RuntimeError):
    """The sandbox failed; nothing is known about the program."""


class Zygote:
    """A zygote process and the channel to it."""

    def __init__(self, settings: Mapping[str, Any]):
        """Start it. Raises SandboxFault with its own words."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._uid = _next_uid() if not settings["uses_namespaces"] else namespaces.NOBODY
        made = ZygoteSettings(socket=theirs.fileno(), uid=self._uid, **settings)
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        soft = _STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, _STACK_BYTES)
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))  # inherited: see _STACK_BYTES
        arguments = json.dumps(asdict(made))
        root = str(Path(__file__).resolve().parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-S", "-P", "-X", "utf8", "-c", _BOOT, root, arguments],
            stdin=subprocess.PIPE,  # pipes, so that the streams that children inherit know it
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env=_ENVIRONMENT,
            cwd="/",
        )
        theirs.close()
        self.num_runs = 0
        self._await_start(made.uses_namespaces)

    def _await_start(self, uses_namespaces: bool) -> None:
        self._channel.settimeout(_START_TIMEOUT_S)
        try:
            message = self._channel.recv(_MESSAGE_BYTES)
        except TimeoutError:
            message = marshal.dumps((f"no answer within {_START_TIMEOUT_S:.0f} s", {}))
        self._channel.settimeout(None)
        fault, theirs = marshal.loads(message) if message else (self._last_words(), {})
        if not message and not fault:
            fault = "it ended without a word"
        shared = [name for name, value in namespaces.own().items() if theirs.get(name) == value]
        if not fault and shared and uses_namespaces:
            fault = f"it shares its namespaces {', '.join(shared)} with this process"
        if fault:
            self.close()
            raise SandboxFault(f"the sandbox did not start: {fault}")

    def _last_words(self) -> str:
        self._process.kill()
        words: bytes = self._process.communicate()[1]
        return words.decode(errors="replace")[-2000:]

    @property
    def is_worn(self) -> bool:
        """Whether it has served long enough."""
        return self.num_runs >= _RUNS_PER_ZYGOTE

    def give(self, descriptor: int) -> None:
        """Let children open a pipe again by name, /dev/stdin for one, though they are not us."""
        if os.geteuid() == 0:
            os.fchown(descriptor, self._uid, self._uid)

    def fileno(self) -> int:
        """Descriptor of the channel."""
        return self._channel.fileno()

    def send(self, request: RunRequest, descriptors: Sequence[int]) -> None:
        """Start a run. Raises SandboxFault when the zygote is gone."""
        self.num_runs += 1
        try:
            socket.send_fds(self._channel, [request.dump()], descriptors)
        except OSError as error:
            raise SandboxFault(f"the zygote is gone: {error}") from None

    def kill_run(self) -> None:
        """End the current run; if it has ended by itself, nothing happens."""
        with suppress(OSError):  # gone, which the end of the channel tells
            self._channel.send(KILL)

    def receive(self) -> Ended:
        """Read how a run ended. Raises SandboxFault when the zygote is gone."""
        try:
            message = self._channel.recv(_MESSAGE_BYTES)
        except OSError as error:
            raise SandboxFault(f"the zygote is gone: {error}") from None
        if not message:
            raise SandboxFault("the zygote ended in the middle of a run")
        return Ended.load(message)

    def close(self) -> None:
        """End the zygote and everything below it."""
        self._channel.close()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


@dataclass(slots=True)
class Task:
    """What to run: a role with its payload, standard input, and the limits."""

    role: str
    payload: Mapping[str, Any]
    limits: ProcessLimits
    wall_s: float
    stdin: bytes = b""
    output_bytes: int = 64 * 2**20
    frame_bytes: int = 0
    """The longest result that the role may write to descriptor 3; 0 if it has none."""
    program: bytes = b""
    """A compiled program, for descriptor 3."""
    descriptors: Sequence[int] = ()
    """More descriptors for the child, from 3 on, or from 4 beside a frame. Closed once they are
    sent."""


@dataclass(slots=True)
class Output:
    """What a run left."""

    ended: Ended
    stdout: bytes
    stderr: bytes
    frame: bytes
    has_overflow: bool
    """Whether it wrote more than it may."""


@dataclass(slots=True)
class _Stream:
    """A pipe that is read up to `limit` bytes; of stderr the tail is kept."""

    descriptor: int
    limit: int
    keeps_tail: bool = False
    data: bytearray = field(default_factory=bytearray)

    def read(self) -> bool:
        """Take what there is; False at the end of the stream."""
        try:
            return self._take()
        except BlockingIOError:
            return True

    def drain(self) -> None:
        """Take what is left of a stream whose writers are gone, up to the limit."""
        try:
            while self._take() and not self.is_over:
                pass
        except BlockingIOError:
            pass

    def _take(self) -> bool:
        chunk = os.read(self.descriptor, _CHUNK_BYTES)
        self.data += chunk
        if self.keeps_tail and len(self.data) > 2 * self.limit:
            del self.data[: -self.limit]
        return bool(chunk)

    @property
    def is_over(self) -> bool:
        return not self.keeps_tail and len(self.data) > self.limit


class Run:
    """A run under way. `start` it, `step` it when one of its descriptors is ready, until `done`."""

    def __init__(self, zygote: Zygote, task: Task):
        self.zygote = zygote
        self._task = task
        self._ended: Ended | None = None
        self._has_overflow = False
        self._is_started = False
        self._made: list[_Stream] = []  # stdout, stderr, and the frame where there is one
        self._open: dict[int, _Stream] = {}

    def start(self, poller: "select.poll") -> None:
        """Make the pipes and send the request. Raises SandboxFault."""
        task = self._task
        with ExitStack() as sent:
            for descriptor in task.descriptors:
                sent.callback(os.close, descriptor)
            self._is_started = True
            theirs = [
                _memory_file(sent, task.stdin, is_sealed=True),
                self._make_stream(sent, task.output_bytes),
                self._make_stream(sent, _STDERR_BYTES, keeps_tail=True),
                _memory_file(sent, marshal.dumps(dict(task.payload))),
            ]
            if task.program:
                theirs.append(_memory_file(sent, task.program))
            if task.frame_bytes:
                theirs.append(self._make_stream(sent, task.frame_bytes))
            request = RunRequest(task.role, task.limits, task.wall_s, self.longest_wall_s)
            self.zygote.send(request, [*theirs, *task.descriptors])
        poller.register(self.zygote, select.POLLIN)
        for descriptor in self._open:
            poller.register(descriptor, select.POLLIN)

    def _make_stream(self, sent: ExitStack, limit: int, *, keeps_tail: bool = False) -> int:
        mine, theirs = os.pipe2(os.O_CLOEXEC)
        sent.callback(os.close, theirs)
        self.zygote.give(theirs)
        os.set_blocking(mine, False)
        stream = _Stream(mine, limit, keeps_tail)
        self._made.append(stream)
        self._open[mine] = stream
        return theirs

    @property
    def longest_wall_s(self) -> float:
        """When a run is given up that had no core to run on."""
        return 10 * self._task.wall_s + _GRACE_S

    def owns(self, descriptor: int) -> bool:
        """Whether an event on the descriptor is this run's."""
        return descriptor == self.zygote.fileno() or descriptor in self._open

    def step(self, descriptor: int, poller: "select.poll") -> None:
        """Serve one descriptor that is ready. Raises SandboxFault."""
        if descriptor == self.zygote.fileno():
            self._ended = self.zygote.receive()
            poller.unregister(self.zygote)
        else:
            self._read(descriptor, poller)

    def _read(self, descriptor: int, poller: "select.poll") -> None:
        stream = self._open[descriptor]
        is_open = stream.read()
        if stream.is_over:
            self._has_overflow = True
            self.zygote.kill_run()
        if not is_open or stream.is_over:
            self._close_stream(descriptor, poller)

    def _close_stream(self, descriptor: int, poller: "select.poll") -> None:
        with suppress(KeyError):  # not registered yet when the start failed
            poller.unregister(descriptor)
        del self._open[descriptor]
        os.close(descriptor)

    @property
    def is_done(self) -> bool:
        """Whether the process has ended; its verdict never waits for the end of a stream."""
        return self._ended is not None

    def finish(self, poller: "select.poll") -> Output:
        """Take what the pipes still hold, close them, and return it all."""
        assert self._ended is not None
        for descriptor, stream in list(self._open.items()):
            stream.drain()
            self._has_overflow |= stream.is_over
            self._close_stream(descriptor, poller)
        stdout, stderr, *frames = self._made
        return Output(
            ended=self._ended,
            stdout=bytes(stdout.data),
            stderr=bytes(stderr.data[-_STDERR_BYTES:]),
            frame=bytes(frames[0].data) if frames else b"",
            has_overflow=self._has_overflow,
        )

    def abandon(self, poller: "select.poll") -> None:
        """Close everything after a fault."""
        if not self._is_started:
            for descriptor in self._task.descriptors:
                os.close(descriptor)
        for descriptor in list(self._open):
            self._close_stream(descriptor, poller)


def run_together(pairs: Sequence[tuple[Zygote, Task]]) -> list[Output]:
    """Run tasks at the same time, each in its own zygote, until all have ended.

    When the first of them ends, the others are ended too. Raises SandboxFault.
    """
    poller = select.poll()
    runs = [Run(zygote, task) for zygote, task in pairs]
    try:
        for run in runs:
            run.start(poller)
        while not all(run.is_done for run in runs):
            deadline = max(run.longest_wall_s for run in runs) + _GRACE_S
            ready = poller.poll(1000 * deadline)
            if not ready:
                raise SandboxFault(f"a zygote was silent for {deadline:.0f} s")
            for descriptor, _ in ready:
                # An earlier event of this round may have closed it.
                owner = next((run for run in runs if run.owns(descriptor)), None)
                if owner:
                    owner.step(descriptor, poller)
                if owner is runs[0] and owner.is_done:
                    for run in runs[1:]:
                        run.zygote.kill_run()
        return [run.finish(poller) for run in runs]
    except BaseException:
        for run in runs:
            run.abandon(poller)
        raise


def run_alone(zygote: Zygote, task: Task) -> Output:
    """Run one task until it has ended. Raises SandboxFault."""
    [output] = run_together([(zygote, task)])
    return output


def _memory_file(closing: ExitStack, data: bytes, *, is_sealed: bool = False) -> int:
    """Return the descriptor of a file in memory, at its start; `closing` closes it.

    A sealed one can never be changed.
    """
    descriptor = os.memfd_create("data", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    closing.callback(os.close, descriptor)
    view = memoryview(data)
    offset = 0
    while offset < len(data):
        offset += os.pwrite(descriptor, view[offset:], offset)
    if is_sealed:
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _ALL_SEALS)
    return descriptor


def _next_uid() -> int:
    """Choose a user that no other zygote of this host is likely to have at the same time."""
    number = next(_zygotes) * _UIDS_PER_JUDGE + os.getpid() % _UIDS_PER_JUDGE
    return _FIRST_UID + number % _NUM_UIDS
