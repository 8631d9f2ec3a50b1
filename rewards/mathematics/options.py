"""What a row may ask of the math grader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rewards import options as rewards_options

Rounding = Literal["exact", "as_reference"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MathOptions:
    """Fields of a row, or keyword arguments of `grade`."""

    require_box: bool = False
    """Only a box counts as an answer."""
    last_number: bool = False
    """Without box and phrase, the last number of the response is the answer (GSM8K)."""
    rounding: Rounding = "exact"
    """`as_reference`: an answer that rounds to a decimal reference, at its digits, is right."""
    interval_inequality: bool = True
    """An interval and the inequality for the same set are equal."""


_TYPES = {"require_box": bool, "last_number": bool, "rounding": str, "interval_inequality": bool}


def read_options(row: Mapping[str, Any]) -> MathOptions:
    """Take the options out of a row's further fields.

    Raises ValueError for a value that is not allowed, and for a field whose name is nearly an
    option's. Other fields (a level, a subject) mean nothing to this grader.
    """
    given = rewards_options.read_options("math", row, _TYPES)
    rounding = given.get("rounding", "exact")
    if rounding not in get_args(Rounding):
        raise ValueError(
            f"option rounding of the math reward must be one of {', '.join(get_args(Rounding))}, "
            f"got {rounding!r:.80}"
        )
    return MathOptions(**given)
