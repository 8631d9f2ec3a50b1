"""A control group for each judge, in a directory that was delegated to this user.

Each run has limits of its own; the group bounds what a judge's processes take of the machine in
all, memory of the kernel and files in memory included. Version 2, and the memory controller of 1.
"""

import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

_PREFIX = "mgpo-sandbox"
_NUM_TASKS = 1024
_END_S = 5.0
_numbers = count()


def create(parent: Path, memory_mb: int) -> Path:
    """Make a group with a limit on its memory, and on its threads where that controller is on.

    Raises OSError when the directory is not ours, or the memory controller is not on in it.
    """
    _sweep(parent)
    group = parent / f"{_PREFIX}-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    limits = {
        "memory.max": memory_mb * 2**20,
        "memory.swap.max": 0,
        "memory.limit_in_bytes": memory_mb * 2**20,
        "pids.max": _NUM_TASKS,
    }
    there = {name: value for name, value in limits.items() if (group / name).exists()}
    try:
        if not {"memory.max", "memory.limit_in_bytes"} & there.keys():
            raise OSError(
                f"{parent} has no memory controller: write +memory into its cgroup.subtree_control"
            )
        for name, value in there.items():
            (group / name).write_text(str(value))
    except BaseException:
        group.rmdir()
        raise
    return group


def enter(group: Path) -> None:
    """Put this process into a group; those it starts are born there."""
    (group / "cgroup.procs").write_text("0")


def remove(group: Path) -> None:
    """Remove a group whose processes have been ended."""
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        try:
            return group.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # the last of them is still on its way out
            time.sleep(0.01)


def _sweep(parent: Path) -> None:
    """Remove what a process that was killed has left."""
    for group in parent.glob(f"{_PREFIX}-*"):
        owner = group.name.split("-")[-2]
        if not Path("/proc", owner).exists():
            with suppress(OSError):
                group.rmdir()
