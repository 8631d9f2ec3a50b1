"""Keeps the interpreter's library open to children that become nobody, where only root reaches it.

An interpreter below /root, say: its directories can be read by all, but not reached. In namespaces
they are mounted elsewhere; without, the zygote holds each open, and children import through
/proc/self/fd. Path rules still see the real place.
"""

import os
import stat
import sys
from pathlib import Path

from sandbox.isolation.linux import moved_up


def hold_import_path() -> list[int]:
    """Replace what is unreachable in sys.path and return the descriptors that stand for it."""
    held: dict[str, int] = {}
    for path in sys.path:
        if os.path.isdir(path) and not _is_reachable(Path(path)):
            held[path] = moved_up(os.open(path, os.O_PATH | os.O_DIRECTORY))
    if not held:
        return []

    def replaced(path: str) -> str:
        for prefix, descriptor in held.items():
            if path == prefix or path.startswith(prefix + "/"):
                return f"/proc/self/fd/{descriptor}{path[len(prefix) :]}"
        return path

    # The longest first: a directory may be held beside one that holds it.
    held = dict(sorted(held.items(), key=lambda item: -len(item[0])))
    sys.path[:] = [replaced(path) for path in sys.path]
    for module in list(sys.modules.values()):
        locations = getattr(module, "__path__", None)  # of packages only
        if isinstance(locations, list):
            module.__path__ = [replaced(path) for path in locations]
    sys.path_importer_cache.clear()
    return list(held.values())


def _is_reachable(path: Path) -> bool:
    return all(directory.stat().st_mode & stat.S_IXOTH for directory in (path, *path.parents))
