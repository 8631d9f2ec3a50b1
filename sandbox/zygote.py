"""A small process that forks one confined child per run and says how it ended.

Started by `runner`. It never reads a program, an input or an answer: those travel in
a memory file that only the child opens, so one run's data cannot show up in another's memory.
"""

import gc
import json
import marshal
import mmap
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from sandbox import roles
from sandbox.isolation import filesystem, landlock, linux, namespaces
from sandbox.isolation.confinement import Confinement
from sandbox.packages import SCIENTIFIC
from sandbox.protocol import Ended, RunRequest, ZygoteSettings

# What programs use most, imported once for all of them.
PRELOADED = (
    *("abc", "array", "bisect", "cmath", "collections", "collections.abc", "contextlib", "copy"),
    *("dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq", "io"),
    *("itertools", "json", "math", "operator", "queue", "random", "re", "statistics", "string"),
    *("sys", "threading", "time", "traceback", "types", "typing", "warnings"),
)
_THREAD_STACK_BYTES = 8 * 2**20  # the soft limit of the process is larger, for deep recursion


def main() -> NoReturn:
    """Serve the socket whose number and settings are in argv until it closes."""
    settings = ZygoteSettings(**json.loads(sys.argv[1]))
    channel = socket.socket(fileno=linux.moved_up(settings.socket))
    _preload(settings)
    try:
        confinement = _enter(settings)
        hello = marshal.dumps(("", namespaces.own()))
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    except OSError as error:
        channel.send(marshal.dumps((str(error), {})))
        os._exit(1)
    gc.collect()
    gc.freeze()
    gc.disable()  # in the children it runs
    channel.send(hello)
    _Server(channel, confinement, settings).serve()
    os._exit(0)


def _preload(settings: ZygoteSettings) -> None:
    for name in PRELOADED:
        import_module(name)
    import threading

    threading.stack_size(_THREAD_STACK_BYTES)
    sys.path += settings.package_dirs
    for name in (*SCIENTIFIC, "numpy.random") if settings.is_scientific else ():
        try:
            import_module(name)
        except ImportError:
            continue
    _add_site_builtins()
    roles.prepare()
    for name in [name for name in sys.modules if name.split(".")[0] == "sandbox"]:
        del sys.modules[name]  # a program finds only what python itself would have


def _add_site_builtins() -> None:
    """Add exit() and quit(), which the module `site` brings, that we start without."""
    import _sitebuiltins
    import builtins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "end of input"))


def _enter(settings: ZygoteSettings) -> Confinement:
    libraries = filesystem.library_dirs(settings.library_dirs)
    abi = landlock.abi_version() if settings.uses_landlock else 0
    if settings.uses_namespaces:
        namespaces.enter(libraries, settings.box_mib, settings.box_files)
    else:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    return Confinement(
        libraries, has_namespaces=settings.uses_namespaces, landlock_abi=abi, uid=settings.uid
    )


class _Server:
    def __init__(self, channel: socket.socket, confinement: Confinement, settings: ZygoteSettings):
        self._channel = channel
        self._confinement = confinement
        self._settings = settings
        # A child's word, which it cannot take back.
        self._is_confined = mmap.mmap(-1, mmap.PAGESIZE)
        self._box = filesystem.state_of_box() if settings.uses_namespaces else None
        self._num_cpus = len(os.sched_getaffinity(0))
        self._own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def serve(self) -> None:
        while True:
            message, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 16)
            if not message:
                return
            request = RunRequest.load(message)
            if request is None:  # the end of a run that had ended by itself
                continue
            self._confinement.filter_for(request.limits)
            ended = self._run(request, descriptors)
            self._channel.send(ended.dump())

    def _run(self, request: RunRequest, descriptors: Sequence[int]) -> Ended:
        self._is_confined[0] = 0
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            self._become_child(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        reason = self._wait(child, start, request)
        _, status, usage = os.wait4(child, 0)
        wall_s = time.monotonic() - start
        self._kill_leftovers()
        self._empty_box()
        return Ended(
            reason=reason,
            status=status,
            is_confined=bool(self._is_confined[0]),
            cpu_s=usage.ru_utime + usage.ru_stime,
            wall_s=wall_s,
            peak_kib=max(0, usage.ru_maxrss - self._own_kib),
        )

    def _empty_box(self) -> None:
        if self._settings.uses_namespaces and filesystem.state_of_box() != self._box:
            filesystem.empty_box(self._settings.box_mib, self._settings.box_files)
            self._confinement.prepare()
            self._box = filesystem.state_of_box()

    def _become_child(self, request: RunRequest, descriptors: Sequence[int]) -> NoReturn:
        try:
            payload, extra = descriptors[3], descriptors[4:]
            for target, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, target)
            with open(payload, "rb") as file:
                arguments = marshal.load(file)
            for target, descriptor in enumerate(extra, start=3):
                os.dup2(descriptor, target)
            if self._settings.uses_namespaces:
                os.chdir(filesystem.BOX)
            self._confinement.apply(request.limits, first_closed=3 + len(extra))
            role: Callable[..., NoReturn] = roles.ROLES[request.role]
            self._is_confined[0] = 1
            self._is_confined.close()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        gc.enable()
        role(**arguments)

    def _wait(self, child: int, start: float, request: RunRequest) -> str:
        """Wait until the child has ended, by itself or because a limit was reached."""
        handle = os.pidfd_open(child)
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.register(self._channel, select.POLLIN)
        try:
            while True:
                seconds_left, reason = self._time_left(child, start, request)
                if seconds_left > 0:
                    ready = dict(poller.poll(seconds_left * 1000))
                    if handle in ready:
                        return "exit"
                    if not ready:
                        continue
                    reason = "told"
                    self._channel.recv(4096)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return reason
        finally:
            os.close(handle)

    def _time_left(self, child: int, start: float, request: RunRequest) -> tuple[float, str]:
        cpu_left = request.limits.cpu_s - time.clock_gettime((~child << 3) | 2)
        wall = time.monotonic() - start
        wall_left = request.wall_s - wall
        if wall_left <= 0:
            # Waiting for a core is not the program's sleep.
            wall_left = request.wall_s - (wall - _seconds_without_a_core(child))
            if wall_left > 0 and wall > request.longest_wall_s:
                return 0.0, "starved"
        if cpu_left <= 0:
            return 0.0, "cpu"
        if wall_left <= 0:
            return 0.0, "wall"
        return min(max(cpu_left / self._num_cpus, 1e-3), max(wall_left, 1e-3)), ""

    def _kill_leftovers(self) -> None:
        """End every other process of the run, the orphans among them, and reap them all."""
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0]:
                    continue
                if self._settings.uses_namespaces:
                    os.kill(-1, signal.SIGKILL)  # as the first process of the namespace
                else:
                    for child in _children():
                        os.kill(child, signal.SIGKILL)
                os.waitpid(-1, 0)
            except ChildProcessError:
                return
            except ProcessLookupError:
                continue


def _children() -> list[int]:
    return [int(word) for word in Path("/proc/thread-self/children").read_text().split()]


def _seconds_without_a_core(process: int) -> float:
    """Longest that one of the process's threads was ready to run and had no core."""
    waited_ns = [0]
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):  # it has just ended
            waited_ns.append(int(thread.read_text().split()[1]))
    return max(waited_ns) / 1e9
