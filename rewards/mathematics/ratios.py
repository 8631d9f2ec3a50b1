"""Ratios and times of day: compared by proportion, or digit by digit."""

from rewards.mathematics import clocks
from rewards.mathematics.decision import Decision, Mode, all_of, different, equal
from rewards.mathematics.forms import Clock, Ratio, Structure, Value
from rewards.mathematics.values import compare_values


def compare_clocks(expected: Structure, given: Structure) -> Decision:
    """Compare times of day; a.m. or p.m. may be missing on one side."""
    if not isinstance(expected, Clock | Ratio) or not isinstance(given, Clock | Ratio):
        return different("structure", "kind")
    halves = {side.half for side in (expected, given) if isinstance(side, Clock)}
    is_same = _clock_digits(expected.terms) == _clock_digits(given.terms) and len(halves) == 1
    return equal("text") if is_same else different("text", "clock")


def _clock_digits(terms: tuple[str, ...]) -> tuple[str, ...]:
    return (terms[0].lstrip("0"), *terms[1:])


def compare_ratios(expected: Structure, given: Structure, mode: Mode) -> Decision:
    """Compare ratios by proportion, with a fraction too; times of day by their digits."""
    first, second = _ratio_terms(expected), _ratio_terms(given)
    if first is None or second is None:
        return different("structure", "kind")
    if (
        clocks.is_clock(first)
        or clocks.is_clock(second)
        or clocks.looks_like_a_clock(first, second)
    ):
        is_same = _clock_digits(first) == _clock_digits(second)
        return equal("text") if is_same else different("text", "clock")
    if len(first) != len(second):
        return different("structure", "count")
    return all_of(
        compare_values(f"({a})/({first[0]})", f"({b})/({second[0]})", mode)
        for a, b in zip(first[1:], second[1:], strict=True)
    )


def _ratio_terms(structure: Structure) -> tuple[str, ...] | None:
    if isinstance(structure, Ratio):
        return structure.terms
    return (structure.text, "1") if isinstance(structure, Value) else None
