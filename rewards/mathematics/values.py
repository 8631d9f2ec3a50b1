"""Comparison of two single values: text, exact literals, units, words, formulas."""

import re
from functools import lru_cache

from rewards.mathematics import probes, symbolic
from rewards.mathematics.decision import (
    Decision,
    Mode,
    Verdict,
    different,
    equal,
    undecided,
    unusable,
)
from rewards.mathematics.expressions import (
    Constant,
    Expression,
    contains_infinity,
    divide,
    multiply,
    number,
)
from rewards.mathematics.fingerprint import Undefined, exact_value, fingerprint
from rewards.mathematics.numbers import (
    NUMBER_WORDS,
    based_number,
    decimal_places,
    exact_number,
    is_float_noise,
)
from rewards.mathematics.parser import parse
from rewards.mathematics.size import TooBig, refuse_too_big
from rewards.mathematics.text import words_of
from rewards.mathematics.tokens import Unparsed
from rewards.mathematics.units import (
    DEGREE,
    PERCENT,
    Unit,
    are_compatible,
    are_of_one_name,
    split_quantity,
)

_ONE = number(1)
_RADIANS_OF_DEGREE = divide(Constant("pi"), number(180))
_PROSE = re.compile(r"(?:[\w\s.,:;'\"?!()\[\]/%-]|\\text\{[^{}\\]*\})+")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_CAPITALS = re.compile(r"[A-Z]{2,}")
"""A line, a triangle, a name: the order of its letters matters."""
_MIN_WORDS_OF_PROSE = 3
MAX_CHEAP_WORK = 2000.0
"""Nodes of one comparison that are evaluated where nothing can be killed: some milliseconds."""
_WORDS = re.compile(r"(?:[^\W\d_]|[\s.,'()\[\]{}-]|\\text\{[^{}\\]*\})+")
_LONG_WORD = re.compile(r"(?<!\\)[^\W\d_]{4,}|\\text\{")
_SHORT_WORDS = frozenset({"yes", "no", "odd", "all", "one", "two", "six", "ten"})
_NAMES = re.compile(
    r"(?:arc)?(?:sqrt|sin|cos|tan|cot|sec|csc|log|exp|floor|ceil|binom|infty|pi|ln)"
)


def compare_values(reference: str, answer: str, mode: Mode) -> Decision:
    """Compare two normalised texts, each a single value."""
    if reference == answer:
        return equal("text", "identical")
    based = _compare_based(reference, answer)
    if based is not None:
        return based
    if _CAPITALS.fullmatch(reference) and _CAPITALS.fullmatch(answer):
        return different("text", "words")
    if is_words(reference) or is_words(answer):
        is_same = _number_or_words(reference) == _number_or_words(answer)
        return equal("text", "words") if is_same else different("text", "words")
    return _compare_quantities(reference, answer, mode)


def _number_or_words(text: str) -> str:
    words = words_of(text)
    return str(NUMBER_WORDS.get(words, words))


def is_words(text: str) -> bool:
    """Say whether a text is words and no formula."""
    if not _WORDS.fullmatch(text):
        return False
    if text.casefold() in _SHORT_WORDS or "\\text{" in text:
        return True
    return _LONG_WORD.search(_NAMES.sub(" ", text)) is not None


def _compare_based(reference: str, answer: str) -> Decision | None:
    """Literals with a base must have the same digits and base; a base may be missing."""
    first, second = based_number(reference), based_number(answer)
    if first is None and second is None:
        return None
    if first is not None and second is not None:
        return equal("exact") if first == second else different("exact", "base")
    based, plain = (first, answer) if first is not None else (second, reference)
    is_same = based is not None and plain.lstrip("0") == based.digits
    return equal("exact") if is_same else different("exact", "base")


def _compare_quantities(reference: str, answer: str, mode: Mode) -> Decision:
    first, second = split_quantity(reference), split_quantity(answer)
    if first.unit and not second.unit:
        second = split_quantity(answer, may_be_letter=True)
    elif second.unit and not first.unit:
        first = split_quantity(reference, may_be_letter=True)
    if first.unit is None or second.unit is None:
        plain = _compare_plain(first.value, second.value, mode)
        scaled = _scale(first.unit or second.unit)
        is_open = mode.is_cheap and plain.verdict is not Verdict.DIFFERENT
        if plain.is_equal or is_open or scaled == _ONE:
            return plain
        factors = (scaled, _ONE) if first.unit else (_ONE, scaled)
        again = _compare_scaled(first.value, second.value, factors, mode)
        # Neither is right: if one reading is still open, so is the whole.
        return plain if again.verdict is Verdict.DIFFERENT else again
    if not are_compatible(first.unit, second.unit):
        if {first.unit.dimension, second.unit.dimension} != {DEGREE, (("radian", 1),)}:
            return different("exact", "unit")
    elif first.unit.modulus:
        return _compare_residues(first.value, second.value, first.unit.modulus, mode)
    elif first.unit.factor == second.unit.factor or are_of_one_name(first.unit, second.unit):
        return _compare_plain(first.value, second.value, mode)
    scales = (_factor(first.unit), _factor(second.unit))
    return _compare_scaled(first.value, second.value, scales, mode)


def _compare_residues(reference: str, answer: str, modulus: int, mode: Mode) -> Decision:
    first, second = exact_number(reference), exact_number(answer)
    if first is None or second is None or (first - second).denominator != 1:
        return _compare_plain(reference, answer, mode)
    return equal("exact") if (first - second) % modulus == 0 else different("exact")


def _scale(unit: Unit | None) -> Expression:
    """Return what a unit means where the other side has none: percent and degrees are numbers."""
    if unit == PERCENT:
        return number(PERCENT.factor)
    return _RADIANS_OF_DEGREE if unit is not None and unit.dimension == DEGREE else _ONE


def _factor(unit: Unit) -> Expression:
    return _RADIANS_OF_DEGREE if unit.dimension == DEGREE else number(unit.factor)


def _compare_plain(reference: str, answer: str, mode: Mode) -> Decision:
    if reference == answer:
        return equal("text", "identical")
    first, second = exact_number(reference), exact_number(answer)
    if first is not None and second is not None:
        if first == second or is_float_noise(reference, answer):
            return equal("exact")
        if not _rounds_by_option(reference, mode):
            return different("exact")
    return _compare_scaled(reference, answer, (_ONE, _ONE), mode)


def _compare_scaled(
    reference: str, answer: str, factors: tuple[Expression, Expression], mode: Mode
) -> Decision:
    """Compare two formulas, each times its factor."""
    try:
        first = parse(reference)
    except Unparsed:
        return _compare_unparsed_reference(reference, answer, mode)
    try:
        second = parse(answer)
    except Unparsed:
        if symbolic.can_read(reference) and symbolic.is_promising(answer):
            return _compare_by_symbols(reference, answer, mode)
        return different("structure", "unparsed")
    if contains_infinity(first) or contains_infinity(second):
        return equal("exact") if first == second else different("exact")
    rounding = _rounds_by_option(reference, mode) and factors == (_ONE, _ONE)
    first, second = (
        each if factor == _ONE else multiply(each, factor)
        for each, factor in zip((first, second), factors, strict=True)
    )
    decision = compare_expressions(first, second, mode)
    if rounding and not decision.is_equal:
        return _compare_rounded(reference, second, mode, decision)
    return decision


def compare_expressions(first: Expression, second: Expression, mode: Mode) -> Decision:
    """Compare two formulas: the size guard, residues, then probes."""
    if first == second:
        return equal("text", "identical")
    try:
        work = refuse_too_big(first, second)
    except TooBig:
        return different("size_guard", "too_big")
    if mode.is_cheap and work > MAX_CHEAP_WORK:
        return undecided("needs_time", "size_guard")
    try:
        ours, theirs = _fingerprint(first), _fingerprint(second)
    except Undefined:
        return different("exact", "undefined")
    if ours.value == theirs.value:
        return equal("exact")
    if ours.is_exact and theirs.is_exact:
        return different("exact")
    if mode.is_cheap:
        return undecided("needs_probe", "exact")
    is_same = probes.are_equal(first, second)
    if is_same is None:
        return undecided("undecided", "probe")
    return equal("probe") if is_same else different("probe")


_fingerprint = lru_cache(maxsize=1024)(fingerprint)


def _compare_unparsed_reference(reference: str, answer: str, mode: Mode) -> Decision:
    if _PROSE.fullmatch(reference) or len(_WORD.findall(reference)) >= _MIN_WORDS_OF_PROSE:
        is_same = words_of(reference) == words_of(answer)
        return equal("text", "words") if is_same else different("text", "words")
    if not symbolic.can_read(reference):
        return unusable()
    return _compare_by_symbols(reference, answer, mode)


def _compare_by_symbols(reference: str, answer: str, mode: Mode) -> Decision:
    if mode.is_cheap:
        return undecided("needs_symbols", "structure")
    return symbolic.compare(reference, answer)


def _rounds_by_option(reference: str, mode: Mode) -> bool:
    return mode.options.rounding == "as_reference" and bool(decimal_places(reference))


def _compare_rounded(
    reference: str, answer: Expression, mode: Mode, otherwise: Decision
) -> Decision:
    """Accept an answer within half a unit of the reference's last digit."""
    target, places = exact_number(reference), decimal_places(reference)
    if target is None or places is None or otherwise.reason in ("too_big", "undefined"):
        return otherwise
    value = exact_value(answer)
    if value is not None:
        is_near = abs(value - target) * 2 * 10**places <= 1
    elif mode.is_cheap:
        return undecided("needs_probe", "exact")
    else:
        is_near = probes.is_near(answer, target, places)
    return equal("exact", "rounded") if is_near else otherwise
