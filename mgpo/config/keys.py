"""Dotted keys: those that a configuration has, the nearest one to a key it does not have, and
their values."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum, auto
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_MAX_SUGGESTIONS = 3


class KeyKind(Enum):
    """What stands under a key."""

    LEAF = auto()
    SECTION = auto()
    OPTIONAL_SECTION = auto()
    """May be null: absent."""


def sections_and_leaves(config_type: type[Any]) -> dict[str, KeyKind]:
    """Return each dotted key of a dataclass tree, with what stands under it."""
    return dict(_walk_type(config_type, prefix=""))


def _walk_type(config_type: type[Any], prefix: str) -> Iterator[tuple[str, KeyKind]]:
    hints = get_type_hints(config_type)
    for field in fields(config_type):
        key, hint = prefix + field.name, hints[field.name]
        options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        sections = [each for each in options if isinstance(each, type) and is_dataclass(each)]
        if not sections:
            yield key, KeyKind.LEAF
            continue
        yield key, KeyKind.OPTIONAL_SECTION if NoneType in options else KeyKind.SECTION
        yield from _walk_type(sections[0], prefix=f"{key}.")


def nearest_keys(unknown: str, known: list[str]) -> list[str]:
    """Return the keys that were probably meant, at most three; none if nothing is near.

    The right leaf under a wrong parent comes first, then a near spelling of the whole key, then of
    the leaf alone.
    """
    leaf = unknown.rpartition(".")[2]
    same_leaf = [key for key in known if key.rpartition(".")[2] == leaf]
    if same_leaf:
        return difflib.get_close_matches(unknown, same_leaf, n=_MAX_SUGGESTIONS, cutoff=0.0)
    near = difflib.get_close_matches(unknown, known, n=1, cutoff=0.75)
    if near:
        return near
    leaves = {key.rpartition(".")[2]: key for key in reversed(known)}
    return [leaves[name] for name in difflib.get_close_matches(leaf, leaves, n=1, cutoff=0.6)]


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return dotted key -> value of nested mappings; an empty mapping is a value."""
    if not isinstance(value, Mapping) or not value:
        return {prefix: value}
    flat = {}
    for name, child in value.items():
        flat.update(flatten(child, f"{prefix}.{name}" if prefix else str(name)))
    return flat


def is_limit(key: str) -> bool:
    """Whether a key only says when to give up, and shapes no result."""
    return key.rpartition(".")[2] in ("max_error_share", "max_error_rate", "timeout_s")


def is_below(key: str, sections: Sequence[str]) -> bool:
    """Whether a key is one of these, or lies in one."""
    return any(key == section or key.startswith(f"{section}.") for section in sections)
