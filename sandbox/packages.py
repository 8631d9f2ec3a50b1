"""Where the packages that programs may import lie, without the rest of site-packages."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

SCIENTIFIC = ("numpy", "sortedcontainers", "gmpy2")


def locate(names: Iterable[str] = SCIENTIFIC) -> tuple[list[str], list[str]]:
    """Return the directories to read, and those to put on sys.path, for the installed ones.

    A wheel's shared libraries lie in a directory of their own beside the package.
    """
    readable, searched = [], []
    for name in names:
        spec = importlib.util.find_spec(name)
        for location in (spec.submodule_search_locations or []) if spec else []:
            package = Path(location)
            libraries = package.parent / f"{name}.libs"
            readable += [str(path) for path in (package, libraries) if path.is_dir()]
            searched.append(str(package.parent))
    return readable, list(dict.fromkeys(searched))
