"""The dotted keys that a configuration has, and the nearest one to a key it does not have."""

import difflib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

_MAX_SUGGESTIONS = 3


def sections_and_leaves(config_type: type[Any]) -> dict[str, bool]:
    """Return each dotted key of a dataclass tree, with whether it is a nested dataclass."""
    return dict(_walk_type(config_type, prefix=""))


def _walk_type(config_type: type[Any], prefix: str) -> Iterator[tuple[str, bool]]:
    hints = get_type_hints(config_type)
    for field in fields(config_type):
        key, field_type = prefix + field.name, hints[field.name]
        yield key, is_dataclass(field_type)
        if isinstance(field_type, type) and is_dataclass(field_type):
            yield from _walk_type(field_type, prefix=f"{key}.")


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
