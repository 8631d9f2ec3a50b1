"""The files that a program sees: the interpreter and its libraries, read-only, and a small box."""

import os
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from sandbox.isolation import linux

BOX = "/box"
"""The private writable directory of one run."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_LINKS = {
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/fd": "/proc/self/fd",
    "/dev/shm": BOX,
    "/tmp": BOX,
}
# Mount points for the new root until it is entered: it covers one, in a namespace of our own.
_STAGING = ("/mnt", "/media", "/srv", "/opt", "/var/tmp", "/tmp")


def library_dirs(extra: Iterable[str] = ()) -> list[str]:
    """List the directories that hold the interpreter's code, the C libraries and `extra`.

    The interpreter's site-packages lies below its library and is not listed apart.
    """
    own = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    base = sysconfig.get_config_var("LIBDIR")
    wanted = [*own, *_SYSTEM_LIBRARIES, *([base] if base else []), *extra]
    return [path for path in dict.fromkeys(wanted) if os.path.isdir(path)]


def enter_root(libraries: Sequence[str], box_mib: int, box_files: int) -> None:
    """Replace the root directory by one with `libraries`, devices, /proc and an empty box.

    To be called in a mount and pid namespace of our own, as the first process of the latter.
    Raises OSError.
    """
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    root = _staging(libraries)
    linux.mount("mgpo-sandbox", root, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    for path in libraries:
        _bind_directory(root, path)
    os.makedirs(root + "/dev", exist_ok=True)
    for path in DEVICES:
        if os.path.exists(path):
            Path(root + path).touch()
            linux.mount(path, root + path, "", linux.MS_BIND)
    for link, target in _LINKS.items():
        if not os.path.lexists(root + link):  # a library may lie below /tmp
            os.symlink(target, root + link)
    os.mkdir(root + "/proc")
    os.mkdir(root + BOX)
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("proc", root + "/proc", "proc", flags, "subset=pid")
    linux.pivot_root(root)
    linux.mount("none", "/", "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY)
    mount_box(box_mib, box_files)


def _staging(libraries: Sequence[str]) -> str:
    """Choose a directory that hides no library when it is covered. Raises OSError."""
    for place in _STAGING:
        if os.path.isdir(place) and not any(
            Path(path).resolve().is_relative_to(place) or Path(path).is_relative_to(place)
            for path in libraries
        ):
            return place
    raise OSError(f"a library lies below each of {', '.join(_STAGING)}")


def _bind_directory(root: str, path: str) -> None:
    """Show a directory at the same path below `root`, its symbolic links of parents kept."""
    if os.path.islink(path):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        os.symlink(os.readlink(path), root + path)
        return
    target = root + path
    if os.path.isdir(target):
        return  # inside one that is bound already
    os.makedirs(target)
    linux.mount(path, target, "", linux.MS_BIND | linux.MS_REC)
    linux.make_read_only(target)


def mount_box(mib: int, files: int) -> None:
    """Mount an empty box. Raises OSError."""
    options = f"size={mib}m,nr_inodes={files},mode=700"
    linux.mount("mgpo-box", BOX, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)


def state_of_box() -> tuple[int, int, int]:
    """Describe the box such that any change to it or to what lies in it shows. Raises OSError."""
    found = os.stat(BOX)
    # What lies there is counted, too: the clock of file times stands still between its ticks.
    return found.st_mode, found.st_ctime_ns, len(os.listdir(BOX))


def empty_box(mib: int, files: int) -> None:
    """Replace the box by an empty one. Raises OSError."""
    linux.unmount(BOX)
    mount_box(mib, files)
