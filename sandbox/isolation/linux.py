"""Linux calls that the standard library lacks, through libc. Standard library only."""

import ctypes
import fcntl
import os
import platform
from collections.abc import Sequence

# PyDLL would keep the GIL; the processes that call these have one thread, so either will do.
_libc = ctypes.CDLL(None, use_errno=True)

MACHINE = platform.machine()
SUPPORTED_MACHINES = ("x86_64", "aarch64")
# Numbers are the same on all machines since Linux 5.1.
_COMMON = {
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "close_range": 436,
}
_OWN = {
    "x86_64": {"capset": 126, "pivot_root": 155},
    "aarch64": {"capset": 91, "pivot_root": 41},
}

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
_FIRST_OWN_DESCRIPTOR = 500  # above what a program would try
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(name: str, *arguments: object) -> int:
    """Make a system call by number. Raises OSError with the name of the call."""
    number = _COMMON[name] if name in _COMMON else _OWN[MACHINE][name]
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    return _checked(result, name)


def prctl(option: int, argument: int = 0, address: object = 0) -> int:
    """Call prctl(option, argument, address, 0, 0). Raises OSError."""
    result: int = _libc.prctl(
        option,
        ctypes.c_ulong(argument),
        ctypes.c_ulong(address) if isinstance(address, int) else address,
        ctypes.c_ulong(0),
        ctypes.c_ulong(0),
    )
    return _checked(result, f"prctl({option})")


def unshare(flags: int) -> None:
    """Leave the shared namespaces named by `flags`. Raises OSError."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount as mount(2). Raises OSError."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _checked(result, f"mount {kind or source} at {target}")


def unmount(target: str) -> None:
    """Detach a mount. Raises OSError."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def make_read_only(target: str) -> None:
    """Make a mount and all below it read-only, without devices and set-uid. Raises OSError."""
    attributes = (ctypes.c_uint64 * 4)(
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, 0, 0
    )
    syscall("mount_setattr", _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, 32)


def pivot_root(new_root: str) -> None:
    """Make `new_root` the root directory and detach the old one. Raises OSError."""
    os.chdir(new_root)
    syscall("pivot_root", b".", b".")  # the old root is stacked on the new one
    unmount(".")
    os.chdir("/")


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets of this thread. Raises OSError."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    empty = (ctypes.c_uint32 * 6)()
    syscall("capset", header, empty)


def close_from(first: int, spared: Sequence[int] = ()) -> None:
    """Close every descriptor from `first` on but the spared. Raises OSError."""
    for descriptor in sorted(spared):
        if descriptor > first:
            syscall("close_range", first, descriptor - 1, 0)
        first = descriptor + 1
    syscall("close_range", first, 0x7FFFFFFF, 0)


def moved_up(descriptor: int) -> int:
    """Move a descriptor of the zygote's out of the way of those that its children get."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_OWN_DESCRIPTOR)
    os.close(descriptor)
    return moved


def _checked(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
