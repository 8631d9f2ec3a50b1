"""Templates of questions to models: built-in files that a user's folder may replace one by one."""

from collections.abc import Set as AbstractSet
from pathlib import Path
from re import Pattern

from mgpo.config.errors import ConfigError


def check_folder(folder: str | None) -> None:
    """Raise ConfigError for a `templates_dir` that is not there."""
    if folder is not None and not Path(folder).is_dir():
        raise ConfigError(f"templates_dir {folder}: no such folder")


def read_template(
    built_in: Path,
    folder: str | None,
    known: Pattern[str],
    needed: AbstractSet[str],
    optional: AbstractSet[str] = frozenset(),
) -> str:
    """Return the text of the file of that name in the user's folder, or else the built-in one.

    `known` finds the names of places. Raises ConfigError unless the text has each that is needed,
    and no other that is known but is not optional.
    """
    path = built_in
    if folder is not None and (Path(folder) / path.name).is_file():
        path = Path(folder) / path.name
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"template {path}: cannot be read: {error}") from error
    if not needed <= set(known.findall(text)) <= needed | optional:
        allowed = f"; it may have {_shown(optional)}" if optional else ""
        raise ConfigError(
            f"template {path}: must have the places {_shown(needed)}{allowed}, and no other of them"
        )
    return text


def _shown(places: AbstractSet[str]) -> str:
    return " and ".join(f"{{{each}}}" for each in sorted(places))
