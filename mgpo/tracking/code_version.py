"""Which code a process runs: provenance.json records it, and driver and actors compare it."""

import hashlib
import logging
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mgpo
import rewards
import sandbox
from mgpo.config.errors import UserError

logger = logging.getLogger(__name__)

COMMIT_VARIABLE = "MGPO_GIT_COMMIT"
"""Names the commit where the sources lie outside a repository; ends in -dirty if they differ."""

_DIRTY = "-dirty"
_GIT_TIMEOUT_S = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeVersion:
    """Where a process imported mgpo from, and what it found there."""

    path: str
    commit: str | None
    """None: neither git nor MGPO_GIT_COMMIT knows it."""
    is_dirty: bool | None
    sha256: str
    """Over all Python files of mgpo/, rewards/ and sandbox/."""

    def __str__(self) -> str:
        commit = (self.commit or "unknown") + (_DIRTY if self.is_dirty else "")
        return f"mgpo at {self.path}, commit {commit}, sha256 {self.sha256[:16]}"


@cache
def code_version() -> CodeVersion:
    """Return what this process runs, as it was when first asked."""
    path = Path(mgpo.__file__).parent
    commit, is_dirty = _from_git(path)
    if commit is None:
        commit, is_dirty = _from_environment()
    folders = [path, *(Path(file).parent for file in (rewards.__file__, sandbox.__file__))]
    return CodeVersion(
        path=str(path), commit=commit, is_dirty=is_dirty, sha256=hash_sources(folders)
    )


def hash_sources(folders: Sequence[Path]) -> str:
    """Return a digest of names and contents of the Python files in packages."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder.parent).as_posix()
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def refuse_other_code(who: str, found: Sequence[CodeVersion]) -> None:
    """Log what actors run; raise UserError if it is not what this process runs."""
    for text in sorted({str(version) for version in found}):
        logger.info("%s: %s", who, text)
    own = code_version()
    other = next((version for version in found if version.sha256 != own.sha256), None)
    if other is not None:
        raise UserError(
            f"{who} would run other code than the driver: {other}; the driver has {own}; send the "
            "code along with `ray job submit --working-dir .`, or put the same on every host"
        )


def _from_environment() -> tuple[str | None, bool | None]:
    text = os.environ.get(COMMIT_VARIABLE)
    return (text.removesuffix(_DIRTY), text.endswith(_DIRTY)) if text else (None, None)


def _from_git(code: Path) -> tuple[str | None, bool | None]:
    # A package installed into some other project's tree is not that project's commit.
    if _git(code, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None, None
    changed = _git(code, "status", "--porcelain", "--untracked-files=no")
    return _git(code, "rev-parse", "HEAD"), None if changed is None else bool(changed)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
