"""What a freshly forked process does to itself before it runs a program it must not trust."""

import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.isolation import filesystem, landlock, linux
from sandbox.isolation.namespaces import become
from sandbox.isolation.seccomp import SyscallFilter
from sandbox.isolation.unreachable import hold_import_path

MIB = 2**20
_ROOM_FOR_OTHERS = 4096  # the threads of an ordinary user are counted all together


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of one process, as they travel to the zygote."""

    cpu_s: float
    memory_mib: int
    file_mib: int
    num_threads: int
    num_open_files: int
    allows_processes: bool = False
    allows_programs: bool = False


class Confinement:
    """The layers that one child puts on, prepared once in its zygote."""

    def __init__(
        self, libraries: Sequence[str], *, has_namespaces: bool, landlock_abi: int, uid: int
    ):
        """`uid` is what root becomes without namespaces, one for each zygote."""
        self._uid = uid
        self._others = 0 if has_namespaces or os.geteuid() == 0 else _ROOM_FOR_OTHERS
        self.has_namespaces = has_namespaces
        self._libraries = libraries
        self._abi = landlock_abi
        self._ruleset = -1
        self._filters: dict[tuple[bool, bool], SyscallFilter] = {}
        self._address_space = 0
        self._spared: list[int] = []
        if not has_namespaces and os.geteuid() == 0:
            self._spared = hold_import_path()
        self.prepare()

    def prepare(self) -> None:
        """Build what children share; again after the box was replaced. Raises OSError."""
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1
        if self._abi:
            writable = [filesystem.BOX] if self.has_namespaces else []
            made = landlock.make_ruleset(self._libraries, writable, filesystem.DEVICES, self._abi)
            self._ruleset = linux.moved_up(made)
        with open("/proc/self/statm") as file:
            self._address_space = int(file.read().split()[0]) * resource.getpagesize()

    def filter_for(self, limits: ProcessLimits) -> SyscallFilter:
        """Return the filter of these limits, made at its first use. Call it before the fork."""
        key = (limits.allows_processes, limits.allows_programs)
        if key not in self._filters:
            self._filters[key] = SyscallFilter(
                allow_processes=limits.allows_processes,
                allow_programs=limits.allows_programs,
                forbid_changes=not self.has_namespaces,
                forbid_writing=not self._abi,
            )
        return self._filters[key]

    def apply(self, limits: ProcessLimits, first_closed: int) -> None:
        """Put all layers on, seccomp last, and close the descriptors from `first_closed` on.

        Raises OSError; then nothing of the program may run.
        """
        self._set_limits(limits)
        syscall_filter = self.filter_for(limits)
        if self.has_namespaces:
            linux.drop_capabilities()
        else:
            become(self._uid)  # its last step away from root empties the capabilities
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        if self._ruleset >= 0:
            landlock.restrict_self(self._ruleset)
        linux.close_from(first_closed, self._spared)
        syscall_filter.load(os.getpid())

    def _set_limits(self, limits: ProcessLimits) -> None:
        cpu_s = int(limits.cpu_s) + 2  # only a back-stop: the zygote reads the process's clock
        # Address space is more than memory: thread stacks, arenas. The peak is judged at the end.
        space = self._address_space + 2 * limits.memory_mib * MIB + 64 * MIB
        _, hard_stack = resource.getrlimit(resource.RLIMIT_STACK)
        stack = limits.memory_mib * MIB
        if hard_stack != resource.RLIM_INFINITY:
            stack = min(stack, hard_stack)
        for kind, value in (
            (resource.RLIMIT_AS, space),
            (resource.RLIMIT_CPU, cpu_s),
            (resource.RLIMIT_FSIZE, limits.file_mib * MIB),
            (resource.RLIMIT_NOFILE, limits.num_open_files),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
        ):
            resource.setrlimit(kind, (value, value))
        # Programs raise their own stack limit, to what it may be already; memory bounds it.
        resource.setrlimit(resource.RLIMIT_STACK, (stack, hard_stack))
        # The zygote and the process that waits for it count too, or all that this user runs.
        count = limits.num_threads + 2 + self._others
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
