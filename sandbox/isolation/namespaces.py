"""Namespaces of a zygote: its own processes, files, network, and users.

One set per zygote, not per run: a run's processes are all killed at its end, by the zygote as the
first process of the pid namespace, and its files are thrown away. So a run costs a plain fork.
"""

import os
import signal
from collections.abc import Sequence

from sandbox.isolation import filesystem, linux

NOBODY = 65534
_NAMES = ("user", "mnt", "pid", "net", "ipc", "uts")
_ALL = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
)


def own() -> dict[str, str]:
    """Name the namespaces of this process, as the kernel does."""
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMES}


def become(uid: int) -> None:
    """Give up root, where we have it, for an ordinary user. Raises OSError."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root


def enter(libraries: Sequence[str], box_mib: int, box_files: int) -> None:
    """Move into namespaces of our own and return as the first process in them.

    The calling process stays outside and waits; killed, it takes everything inside with it. Root
    gives itself up on the way. Raises OSError.
    """
    is_root = os.geteuid() == 0
    if is_root:
        linux.unshare(_ALL)
    else:
        _own_users(_ALL)
    _fork_and_wait()
    filesystem.enter_root(libraries, box_mib, box_files)
    if is_root:
        become(NOBODY)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of user clears it
        _own_users(linux.CLONE_NEWNS)
        filesystem.mount_box(box_mib, box_files)  # root's box lies below


def _own_users(further: int) -> None:
    """Enter a user namespace in which we are nobody with all capabilities."""
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER | further)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {uid} 1"),
        ("gid_map", f"{NOBODY} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _fork_and_wait() -> None:
    """Fork; the child returns, bound to its parent's life, and the parent ends when it does."""
    child = os.fork()
    if child:
        linux.close_from(0)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
