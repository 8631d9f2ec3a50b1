"""What an answer can be in its outer form: value, items, union, matrix, ratio, relation."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Value:
    """A single value, whatever it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    r"""Several values: a tuple or interval `(1,2]`, a set `\{1,2\}`, a bare list `1,2`."""

    opening: str
    """`(`, `[`, `{` or, for a bare list, nothing."""
    closing: str
    items: tuple["Structure", ...]
    joint: str = ""
    """`and` or `or` where a bare list is joined by that word, `mixed` by both."""

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the items matters."""
        return self.opening in ("(", "[")

    @property
    def is_pair(self) -> bool:
        """Whether it could be an interval."""
        return self.is_ordered and len(self.items) == 2


@dataclass(frozen=True, slots=True)
class Union:
    """A union of intervals and sets."""

    members: tuple["Structure", ...]


@dataclass(frozen=True, slots=True)
class Difference:
    r"""`\mathbb{R}\setminus\{1\}`."""

    base: "Structure"
    removed: "Structure"


@dataclass(frozen=True, slots=True)
class SetBuilder:
    r"""`\{x : x>3\}`: a head and what is said of it."""

    head: str
    condition: "Structure"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple["Structure", ...], ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """`3:4`, or a time of day."""

    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """`4:30 p.m.`: hour and minute, and `a` or `p`."""

    terms: tuple[str, str]
    half: str


@dataclass(frozen=True, slots=True)
class Relation:
    r"""`x=5`, `2<x\le 3`, `x\in[0,1]`: members with operators between them."""

    members: tuple[str, ...]
    operators: tuple[str, ...]
    """`=`, `<`, `>`, `<=`, `>=`, `!=`, `in` or `~` (approximately)."""

    @property
    def is_equation(self) -> bool:
        """Whether every operator is `=` or `~`."""
        return set(self.operators) <= {"=", "~"}


Structure: TypeAlias = (
    Value | Items | Union | Difference | SetBuilder | Matrix | Ratio | Clock | Relation
)
