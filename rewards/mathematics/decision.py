"""What a rung of the ladder says about a reference and an answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from rewards.mathematics.options import MathOptions


class Verdict(Enum):
    """Equal or not, or why that isn't known."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNDECIDED = "undecided"
    UNUSABLE = "unusable"
    """The reference can't be read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with the reason for it and the rung that reached it."""

    verdict: Verdict
    reason: str
    """Short code: see the section Math in rewards/README.md."""
    rung: str
    """`text`, `exact`, `structure`, `size_guard`, `probe` or `symbolic`."""

    @property
    def is_equal(self) -> bool:
        """Whether the answer is right."""
        return self.verdict is Verdict.EQUAL


@dataclass(frozen=True, slots=True)
class Mode:
    """How far the ladder is climbed, and by which policy."""

    options: MathOptions
    is_cheap: bool = False
    """Pure Python rungs only: no mpmath, no math-verify."""


def equal(rung: str, reason: str = "equal") -> Decision:
    """Decide for equality."""
    return Decision(Verdict.EQUAL, reason, rung)


def different(rung: str, reason: str = "different") -> Decision:
    """Decide against it."""
    return Decision(Verdict.DIFFERENT, reason, rung)


def undecided(reason: str, rung: str) -> Decision:
    """Leave it to a later rung; at the end this is wrong."""
    return Decision(Verdict.UNDECIDED, reason, rung)


def unusable() -> Decision:
    """Say that the reference can't be read."""
    return Decision(Verdict.UNUSABLE, "bad_reference", "structure")


def all_of(decisions: Iterable[Decision]) -> Decision:
    """Decide that all parts are equal: one different part settles it, then what is not known."""
    last = equal("structure")
    open_one: Decision | None = None
    for decision in decisions:
        if decision.verdict is Verdict.DIFFERENT:
            return decision
        if not decision.is_equal:
            open_one = open_one or decision
        last = decision
    return open_one or last
