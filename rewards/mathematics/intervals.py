r"""Sets of reals as intervals: `(2,\infty)`, `x>2`, `x\in[0,1)\cup\{3\}`, `x\ne 1`."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rewards.mathematics.forms import (
    Difference,
    Items,
    Relation,
    SetBuilder,
    Structure,
    Union,
    Value,
)
from rewards.mathematics.numbers import exact_number
from rewards.mathematics.structure import read_structure

_INFINITE = (r"\infty", r"+\infty", r"-\infty")
_VARIABLE = re.compile(r"(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_\{?\w+\}?)?(?:\([a-zA-Z]\))?")
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_CONSTANTS = frozenset({"e", "i", r"\pi", r"\infty"})


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends as texts, and whether they belong to it. An infinite end never does."""

    low: str
    high: str
    has_low: bool
    has_high: bool


@dataclass(frozen=True, slots=True)
class RealSet:
    """Intervals, and the variable they were said of."""

    intervals: tuple[Interval, ...]
    variable: str | None = None


def real_set(structure: Structure) -> RealSet | None:
    """Return the set of reals that a structure stands for; None if it may stand for none."""
    if isinstance(structure, Items):
        return _of_items(structure)
    if isinstance(structure, Union):
        return _joined([real_set(member) for member in structure.members])
    if isinstance(structure, SetBuilder):
        inner = real_set(structure.condition)
        is_own = inner is not None and inner.variable == structure.head
        return replace(inner, variable=None) if inner is not None and is_own else None
    if isinstance(structure, Difference):
        return _without_points(real_set(structure.base), real_set(structure.removed))
    return _of_relation(structure) if isinstance(structure, Relation) else None


def says_a_set(structure: Structure) -> bool:
    """Say whether a structure can only be a set of reals: a union, an inequality, a membership."""
    if isinstance(structure, Items) and not structure.opening:
        return bool(structure.items) and all(map(says_a_set, structure.items))
    return isinstance(structure, Union | Difference | SetBuilder) or (
        isinstance(structure, Relation) and not structure.is_equation
    )


def _of_items(items: Items) -> RealSet | None:
    if not items.opening:
        return _of_list(items)
    texts = [item.text for item in items.items if isinstance(item, Value)]
    if len(texts) != len(items.items):
        return None
    if items.opening == "{":
        return RealSet(tuple(Interval(text, text, True, True) for text in texts))
    if len(texts) != 2:
        return None
    return RealSet((_interval(texts[0], texts[1], items.opening == "[", items.closing == "]"),))


def _interval(low: str, high: str, has_low: bool, has_high: bool) -> Interval:
    return Interval(low, high, has_low and low not in _INFINITE, has_high and high not in _INFINITE)


def _without_points(base: RealSet | None, removed: RealSet | None) -> RealSet | None:
    """Take points that are plain numbers, or a single point, out of the real line."""
    line = Interval(r"-\infty", r"\infty", False, False)
    if base is None or removed is None or base.intervals != (line,):
        return None
    points = [each.low for each in removed.intervals if each.low == each.high and each.has_low]
    values = {point: exact_number(point) for point in points}
    if len(points) != len(removed.intervals) or (len(points) > 1 and None in values.values()):
        return None
    ends = [line.low, *sorted(points, key=lambda point: values[point] or 0), line.high]
    gaps = itertools.pairwise(ends)
    return RealSet(tuple(Interval(low, high, False, False) for low, high in gaps))


def _of_list(items: Items) -> RealSet | None:
    """Unite what "or" joins, intersect what "and" joins; a comma is "and" if that is possible."""
    if items.joint == "mixed" or not all(map(says_a_set, items.items)):
        return None
    sets = [real_set(item) for item in items.items]
    if items.joint == "or":
        return _joined(sets)
    common = _intersected(sets)
    if items.joint == "and" or (common is not None and common.intervals):
        return common
    return _joined(sets)


def _joined(sets: Sequence[RealSet | None]) -> RealSet | None:
    """Unite sets that are all known and said of one variable."""
    known = [each for each in sets if each is not None]
    if not known or len(known) != len(sets) or len({each.variable for each in known}) > 1:
        return None
    intervals = tuple(interval for each in known for interval in each.intervals)
    return RealSet(intervals, known[0].variable)


def _intersected(sets: Sequence[RealSet | None]) -> RealSet | None:
    """Intersect sets that are all known and said of one variable; None if ends can't be ordered."""
    whole = _joined(sets)
    if whole is None:
        return None
    known = [each.intervals for each in sets if each is not None]
    common = known[0]
    for intervals in known[1:]:
        pairs = [_overlap(a, b) for a, b in itertools.product(common, intervals)]
        if any(pair is None for pair in pairs):
            return None
        common = tuple(pair for pair in pairs if pair is not None and not _is_empty(pair))
    return RealSet(common, whole.variable)


def _overlap(first: Interval, second: Interval) -> Interval | None:
    """Return what two intervals share, perhaps an empty interval."""
    low = _inner_end((first.low, first.has_low), (second.low, second.has_low), sign=1)
    high = _inner_end((first.high, first.has_high), (second.high, second.has_high), sign=-1)
    return Interval(low[0], high[0], low[1], high[1]) if low and high else None


def _inner_end(
    first: tuple[str, bool], second: tuple[str, bool], *, sign: int
) -> tuple[str, bool] | None:
    """Return the end that cuts off more: the larger low end, or (`sign` -1) the smaller high."""
    if first[0] == second[0]:
        return first[0], first[1] and second[1]
    values = (_end_value(first[0]), _end_value(second[0]))
    for value, other in ((values[0], second), (values[1], first)):
        if value in (float("inf"), float("-inf")):
            return other
    if values[0] is None or values[1] is None:
        return None
    return first if (values[0] - values[1]) * sign > 0 else second


def _end_value(text: str) -> Fraction | float | None:
    """Return an end as a number; None if it is no literal."""
    if text.lstrip("+-") == r"\infty":
        return float("-inf" if text.startswith("-") else "inf")
    return exact_number(text)


def _is_empty(interval: Interval) -> bool:
    low, high = _end_value(interval.low), _end_value(interval.high)
    if low is None or high is None:
        return False
    return low > high or (low == high and not (interval.has_low and interval.has_high))


def _is_seam(before: Interval, behind: Interval, is_same_end: bool) -> bool:
    return is_same_end and not (before.has_high or behind.has_low)


def merged(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return intervals without overlaps and seams: `[1,2]`, `[2,3]` are `[1,3]`.

    Those with ends that are no literals, or turned round, are left as they are.
    """
    placed = []
    for interval in intervals:
        low, high = _end_value(interval.low), _end_value(interval.high)
        if low is None or high is None or low > high:
            return tuple(intervals)
        placed.append((low, not interval.has_low, high, interval))
    placed.sort(key=lambda each: each[:3])
    found: list[Interval] = []
    for low, _, high, interval in placed:
        before = found[-1] if found else None
        end = _end_value(before.high) if before else None
        if before is None or end is None or low > end or _is_seam(before, interval, low == end):
            found.append(interval)
        elif high > end:
            found[-1] = replace(before, high=interval.high, has_high=interval.has_high)
        elif high == end:
            found[-1] = replace(before, has_high=before.has_high or interval.has_high)
    return tuple(found)


def _of_relation(relation: Relation) -> RealSet | None:
    members, operators = relation.members, relation.operators
    if operators == ("in",):
        inner = real_set(read_structure(members[1], level=1))
        return None if inner is None else replace(inner, variable=members[0])
    if len(operators) == 1:
        left, right = members
        operator = operators[0]
        if not _is_variable(left) and _is_variable(right):
            left, right, operator = right, left, _FLIPPED.get(operator, operator)
        return _half_line(left, operator, right) if _is_variable(left) else None
    if len(operators) == 2 and _is_variable(members[1]):
        low, variable, high = members
        if operators[0] in (">", ">=") and operators[1] in (">", ">="):
            low, high, operators = high, low, (_FLIPPED[operators[1]], _FLIPPED[operators[0]])
        if operators[0] in ("<", "<=") and operators[1] in ("<", "<="):
            interval = _interval(low, high, operators[0] == "<=", operators[1] == "<=")
            return RealSet((interval,), variable)
    return None


def _half_line(variable: str, operator: str, bound: str) -> RealSet | None:
    below = _interval(r"-\infty", bound, False, operator == "<=")
    above = _interval(bound, r"\infty", operator == ">=", False)
    if operator == "!=":
        return RealSet((below, above), variable)
    if operator in ("<", "<="):
        return RealSet((below,), variable)
    return RealSet((above,), variable) if operator in (">", ">=") else None


def _is_variable(text: str) -> bool:
    return _VARIABLE.fullmatch(text) is not None and text not in _CONSTANTS
