"""Memory of a process and its descendants, from Linux's /proc."""

from collections.abc import Iterator
from pathlib import Path

_PEAK = "VmHWM:"


def peak_memory_mib(pid: int) -> float:
    """Sum the peak resident memory of a process and all its descendants, in MiB.

    Pages that several of them map count once for each.
    """
    return sum(_peak_kib(each) for each in _tree(pid)) / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in _read(Path(f"/proc/{pid}/task"), "*/children"):
        for child in task.split():
            yield from _tree(int(child))


def _peak_kib(pid: int) -> int:
    for status in _read(Path(f"/proc/{pid}"), "status"):
        for line in status.splitlines():
            if line.startswith(_PEAK):
                return int(line.split()[1])
    return 0  # it is gone, or has no memory of its own any more


def _read(folder: Path, pattern: str) -> Iterator[str]:
    try:
        for path in folder.glob(pattern):
            yield path.read_text()
    except OSError:  # gone meanwhile
        return
