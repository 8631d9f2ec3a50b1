"""Every constraint by its id: the check, and the keyword arguments that a row must or may give."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewards.constraints.kinds import Kind

Check = Callable[..., bool]
"""(text, **kwargs) -> whether the text does what the constraint says."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A check and the kinds of its keyword arguments."""

    check: Check
    kwargs: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    objection: Callable[[Mapping[str, Any]], str] = lambda _: ""
    """Says what is wrong with arguments that are right one by one; nothing if all is well."""
    is_approximate: bool = False
    """The official verdict rests on data we don't have (a model, a dictionary): it may differ."""

    def read(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that a check gets.

        Raises ValueError naming constraint, argument, what is allowed and the nearest name.
        """
        kinds = {**self.kwargs, **self.optional}
        # Rows with one schema for all constraints carry null where an argument has no meaning.
        present = {key: value for key, value in given.items() if value is not None}
        for key in present:
            if key not in kinds:
                allowed = ", ".join(kinds) or "none"
                raise ValueError(
                    f"constraint {name}: unknown kwarg {key!r}: it takes {allowed}"
                    f"{nearest(key, kinds)}"
                )
        for key in self.kwargs:
            if key not in present:
                raise ValueError(f"constraint {name}: kwarg {key!r} is missing")
        read = {key: _read(name, key, value, kinds[key]) for key, value in present.items()}
        objection = self.objection(read)
        if objection:
            raise ValueError(f"constraint {name}: {objection}; got {read}")
        return read


def _read(name: str, key: str, value: Any, kind: Kind) -> Any:
    try:
        return kind(value)
    except ValueError as problem:
        raise ValueError(
            f"constraint {name}: kwarg {key!r} must be {problem}; got {str(value)[:200]!r}"
        ) from problem


def nearest(name: str, known: Mapping[str, Any]) -> str:
    """Return a hint at the known name most like a name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
