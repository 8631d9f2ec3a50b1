"""Options that a row, or `reward.options`, gives to a grader: a misspelt one is an error."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any

_NEAR_MISS = 0.75


def refuse_near_misses(reward: str, fields: Mapping[str, Any], names: Collection[str]) -> None:
    """Raise ValueError for a field whose name is nearly an option's; others mean nothing here."""
    for name in fields:
        near = difflib.get_close_matches(name, names, n=1, cutoff=_NEAR_MISS)
        if name not in names and near:
            raise ValueError(
                f"unknown option {name!r} of the {reward} reward: did you mean {near[0]}?"
            )


def read_options(
    reward: str, fields: Mapping[str, Any], types: Mapping[str, type]
) -> dict[str, Any]:
    """Take the options among a row's fields.

    Raises ValueError for a value of another type, and for a name that is nearly an option's.
    """
    refuse_near_misses(reward, fields, types)
    given = {name: fields[name] for name in types if fields.get(name) is not None}
    for name, value in given.items():
        if not isinstance(value, types[name]):
            raise ValueError(
                f"option {name} of the {reward} reward must be a {types[name].__name__}, "
                f"got {value!r:.80}"
            )
    return given
