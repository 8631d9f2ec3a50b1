"""Two outer forms, item by item: which kinds can mean the same, and in which order."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rewards.mathematics import equations, ratios
from rewards.mathematics.decision import (
    Decision,
    Mode,
    Verdict,
    all_of,
    different,
    equal,
)
from rewards.mathematics.forms import (
    Clock,
    Items,
    Matrix,
    Ratio,
    Relation,
    SetBuilder,
    Structure,
    Union,
    Value,
)
from rewards.mathematics.intervals import Interval, RealSet, merged, real_set, says_a_set
from rewards.mathematics.structure import read_structure
from rewards.mathematics.values import compare_values

_OPTION = re.compile("[A-H]")
_OPTIONS = re.compile("[A-H]{2,}")
_MAX_MATCHED = 24
"""Items of a list, beyond those equal as texts, that are compared each with each."""

read = lru_cache(maxsize=1024)(read_structure)
"""`structure.read_structure`, remembered."""


def read_beside(text: str, other: Structure) -> Structure:
    """Read a text; one such as `100,200` as a list if it is compared with several values."""
    return read_structure(text, prefers_list=isinstance(other, Items))


def says_many(structure: Structure) -> bool:
    """Say whether a reference has several values, or is a set: then "or" may join them."""
    if isinstance(structure, Items):
        is_list = structure.opening in ("", "{") and len(structure.items) > 1
        return is_list and not _gives_unknowns(structure.items)
    if isinstance(structure, Relation) and structure.is_equation:
        return r"\pm" in structure.members[-1]
    return says_a_set(structure)


def compare(expected: Structure, given: Structure, mode: Mode) -> Decision:
    """Compare two structures; kinds meet only where they can mean the same."""
    if says_a_set(expected) or says_a_set(given):
        return _compare_sets(expected, given, mode)
    if isinstance(expected, Relation) or isinstance(given, Relation):
        return _compare_relations(expected, given, mode)
    if isinstance(expected, Items) or isinstance(given, Items):
        return _compare_items(expected, given, mode)
    if isinstance(expected, Matrix) and isinstance(given, Matrix):
        return _compare_matrices(expected, given, mode)
    if isinstance(expected, Clock) or isinstance(given, Clock):
        return ratios.compare_clocks(expected, given)
    if isinstance(expected, Ratio) or isinstance(given, Ratio):
        return ratios.compare_ratios(expected, given, mode)
    if isinstance(expected, Value) and isinstance(given, Value):
        return compare_values(expected.text, given.text, mode)
    return different("structure", "kind")


def _compare_sets(expected: Structure, given: Structure, mode: Mode) -> Decision:
    """Compare as sets of reals; an inequality that is none, such as x+y<1, as a relation."""
    first, second = real_set(_as_meant(expected)), real_set(given)
    if first is None or second is None:
        if isinstance(expected, Relation) and isinstance(given, Relation):
            return equations.compare_relations(expected, given, mode)
        if isinstance(expected, Items) and isinstance(given, Items):
            if expected.joint != given.joint:
                return different("structure", "kind")
            return _compare_items(expected, given, mode)
        if isinstance(expected, Union) and isinstance(given, Union):
            return _match(list(expected.members), list(given.members), mode)
        if isinstance(expected, SetBuilder) and isinstance(given, SetBuilder):
            conditions = compare(expected.condition, given.condition, mode)
            return all_of([compare_values(expected.head, given.head, mode), conditions])
        return different("structure", "kind")
    is_mixed = isinstance(expected, Relation) != isinstance(given, Relation)
    if is_mixed and not mode.options.interval_inequality:
        return different("structure", "kind")
    if first.variable and second.variable and first.variable != second.variable:
        if isinstance(expected, Relation) and isinstance(given, Relation):
            return equations.compare_relations(expected, given, mode)
        return different("structure", "variable")
    return _compare_intervals(first, second, mode)


def _as_meant(reference: Structure) -> Structure:
    """Return a reference such as "x<1 and x>3", which no number meets, with "or"."""
    if isinstance(reference, Items) and reference.joint == "and":
        found = real_set(reference)
        if found is not None and not found.intervals:
            return replace(reference, joint="or")
    return reference


def _compare_intervals(first: RealSet, second: RealSet, mode: Mode) -> Decision:
    ours, theirs = merged(first.intervals), merged(second.intervals)
    if len(ours) != len(theirs):
        return different("structure", "count")
    rest = list(theirs)
    if len(rest) > _MAX_MATCHED:
        return different("size_guard", "too_big")
    open_one: Decision | None = None
    for interval in ours:
        decisions = [_compare_interval(interval, other, mode) for other in rest]
        found = next((n for n, each in enumerate(decisions) if each.is_equal), None)
        if found is None:
            unknown = [each for each in decisions if each.verdict is not Verdict.DIFFERENT]
            if not unknown:
                return different("structure", "interval")
            open_one = unknown[0]
        else:
            rest.pop(found)
    return open_one or equal("structure")


def _compare_interval(first: Interval, second: Interval, mode: Mode) -> Decision:
    if (first.has_low, first.has_high) != (second.has_low, second.has_high):
        return different("structure", "interval")
    ends = ((first.low, second.low), (first.high, second.high))
    return all_of(compare_values(a.lstrip("+"), b.lstrip("+"), mode) for a, b in ends)


def _compare_relations(expected: Structure, given: Structure, mode: Mode) -> Decision:
    """Compare where at least one side is an equation or a definition."""
    if isinstance(expected, Relation) and isinstance(given, Relation):
        return equations.compare_relations(expected, given, mode, compare=compare)
    if isinstance(expected, Relation):
        if not equations.is_definition(expected):
            return different("structure", "kind")
        return compare(read_beside(equations.value_of(expected), given), given, mode)
    assert isinstance(given, Relation)
    if not equations.states_a_value(given):
        return different("structure", "kind")
    for value in equations.inner_values(given):
        decision = compare(expected, read(value), mode)
        if decision.verdict is Verdict.DIFFERENT:
            return different("structure", "inconsistent")
        if not decision.is_equal and mode.is_cheap:
            return decision
    return compare(expected, read_beside(equations.value_of(given), expected), mode)


def _compare_items(expected: Structure, given: Structure, mode: Mode) -> Decision:
    if isinstance(expected, Value):
        expected = read_beside(expected.text, given)
    first, second = _items_of(expected), _items_of(given)
    if first is None or second is None:
        return _compare_with_single(expected, given, mode)
    ours, theirs = _without_label(first), _without_label(second)
    if len(ours) != len(theirs):
        return different("structure", "count")
    if not first.is_ordered and not second.is_ordered:
        if _gives_unknowns(ours) == _gives_unknowns(theirs):
            return _match(ours, theirs, mode)
        if "{" in (first.opening, second.opening):
            return different("structure", "kind")
    elif not _brackets_agree(first, second):
        return different("structure", "interval")
    ours, theirs = equations.by_name(ours, theirs), equations.by_name(theirs, ours)
    return all_of(compare(a, b, mode) for a, b in zip(ours, theirs, strict=True))


def _gives_unknowns(items: Sequence[Structure]) -> bool:
    """Say whether a list is `x=1, y=2`: beside values without names its order matters."""
    relations = [item for item in items if isinstance(item, Relation)]
    return len(relations) == len(items) > 1 and equations.are_of_different_variables(relations)


def _brackets_agree(first: Items, second: Items) -> bool:
    """Say whether two sequences may be equal, at least one of them a tuple or interval.

    A bare list is the tuple of its items, but neither a set nor a half-open interval; brackets
    of longer tuples are a matter of taste.
    """
    kinds = {(each.opening, each.closing) for each in (first, second)}
    if len(kinds) == 1:
        return True
    if any(opening == "{" for opening, _ in kinds):
        return False
    is_bare = ("", "") in kinds
    are_halves = bool(kinds & {("(", "]"), ("[", ")")})
    return not are_halves and (is_bare or len(first.items) != 2)


def _items_of(structure: Structure) -> Items | None:
    """Return the items of a list, a tuple, or a matrix with one row or column."""
    if isinstance(structure, Items):
        return structure
    if isinstance(structure, Matrix):
        if len(structure.rows) == 1:
            return Items("(", ")", structure.rows[0])
        if all(len(row) == 1 for row in structure.rows):
            return Items("(", ")", tuple(row[0] for row in structure.rows))
    return None


def _compare_with_single(expected: Structure, given: Structure, mode: Mode) -> Decision:
    """Compare a list with a single value: equal only if the list has one item."""
    letters = [_letters_of(side) for side in (expected, given)]
    if all(letters):
        return equal("text") if letters[0] == letters[1] else different("text")
    for one, other, is_first in ((expected, given, True), (given, expected, False)):
        if isinstance(one, Items) and not isinstance(other, Items | Matrix):
            if len(one.items) != 1:
                return different("structure", "count")
            item = one.items[0]
            return compare(item, other, mode) if is_first else compare(other, item, mode)
    return different("structure", "kind")


def _letters_of(structure: Structure) -> list[str]:
    """Return the chosen options of `A,C` and of `AC`, sorted; empty for anything else."""
    if isinstance(structure, Items) and not structure.is_ordered:
        texts = [item.text for item in structure.items if isinstance(item, Value)]
        is_choice = len(texts) == len(structure.items) and all(map(_OPTION.fullmatch, texts))
        return sorted(texts) if is_choice else []
    is_run = isinstance(structure, Value) and _OPTIONS.fullmatch(structure.text)
    return sorted(structure.text) if is_run and isinstance(structure, Value) else []


def _without_label(items: Items) -> list[Structure]:
    """Return the items, those of a set once; of `n=2,3,4` without the name before the first."""
    found = list(dict.fromkeys(items.items)) if items.opening == "{" else list(items.items)
    if len(found) < 2 or items.opening:
        return found
    first, *rest = found
    is_labelled = isinstance(first, Relation) and equations.is_definition(first)
    if is_labelled and not any(isinstance(each, Relation) for each in rest):
        assert isinstance(first, Relation)
        return [read(equations.value_of(first)), *rest]
    return found


def _match(ours: list[Structure], theirs: list[Structure], mode: Mode) -> Decision:
    """Match items in any order: each has one partner."""
    if len(ours) != len(theirs):
        return different("structure", "count")
    common = Counter(ours) & Counter(theirs)
    ours, theirs = (list((Counter(side) - common).elements()) for side in (ours, theirs))
    if len(ours) > _MAX_MATCHED:
        return different("size_guard", "too_big")
    is_open: Decision | None = None
    for item in ours:
        decisions = [compare(item, other, mode) for other in theirs]
        found = next((n for n, each in enumerate(decisions) if each.is_equal), None)
        if found is not None:
            theirs.pop(found)
            continue
        unknown = [each for each in decisions if each.verdict is not Verdict.DIFFERENT]
        if not unknown:
            return different("structure", "item")
        is_open = unknown[0]
    return is_open or equal("structure")


def _compare_matrices(expected: Matrix, given: Matrix, mode: Mode) -> Decision:
    if [len(row) for row in expected.rows] != [len(row) for row in given.rows]:
        return different("structure", "shape")
    return all_of(
        compare(a, b, mode)
        for ours, theirs in zip(expected.rows, given.rows, strict=True)
        for a, b in zip(ours, theirs, strict=True)
    )
