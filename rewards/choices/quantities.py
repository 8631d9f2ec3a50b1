r"""A number with its unit, `3.0\times10^{8}\ \text{m/s}`, and whether two of them agree.

The reference's digits say how precisely it is meant: an answer within half a unit in the last
place agrees. A whole number without a unit is a count and exact; zeros at the end of a whole
number may be mere places, so a thousandth is allowed there, as far as these zeros reach.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from rewards.choices.si_units import PERCENT, Unit, measure_the_same, read_unit
from rewards.mathematics.text import normalise

MAX_CHARS = 300
_MAX_EXPONENT = 400
_FAR = Fraction(10**9)
"""Of what must be exact and is not."""
_PLACES_TOLERANCE = Fraction(1, 1000)
_ROUNDING_OF_FACTORS = Fraction(1, 10**9)
"""Of factors such as that of degrees, relative."""
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s?(?:\\frac ?\{(?P<top>\d{1,30})\}\{(?P<low>\d{1,30})\}"
    r"|(?P<over>\d{1,30})/(?P<under>\d{1,30})(?![\d.])"
    r"|(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|"
    r"\d{1,3}(?: \d{3})+(?![\d/])(?:\.\d+)?|\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})"
    r"(?:\s?(?:\*|[xX]|\u2a2f)\s?10\s?(?:\^\s?\{?\s?(?P<power>[+-]?\s?\d{1,4})\s?\}?"
    r"|(?P<tight>[+-]\d{1,3}))|[eE](?P<short>[+-]?\d{1,4}))?"
    r")"
)
_BARE_POWER = re.compile(r"(?P<sign>[+-]?)10\s?\^\s?\{?\s?(?P<power>[+-]?\d{1,4})\s?\}?")
_ABOUT = re.compile(
    r"^(?:\\approx|~|\\sim|about|approximately|approx\.?|roughly|around|nearly|exactly)\s*"
)
_SIUNITX = re.compile(r"\\(?:SI|qty)\{([^{}]*)\}\{([^{}]*)\}")
_SIUNITX_NAME = re.compile(r"\\(?:unit|si)(?=\{)")
_RELATION = re.compile(r"=|\\approx|\\simeq|\\cong")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value as it was written."""

    value: Fraction
    unit: Unit | None
    half_place: Fraction
    """Half a unit in the last place, in the unit written; 0 for a fraction."""
    is_count: bool
    """A whole number in plain digits."""
    num_zeros: int
    """Zeros at the end of a whole number."""


@lru_cache(maxsize=4096)
def read_quantity(text: str) -> Quantity | None:
    """Return what a text says if it is one number, with a unit or without; None for others.

    Of `v = 3 m/s` and `x = 2y = 3` the last member counts.
    """
    if len(text) > MAX_CHARS:
        return None
    text = _SIUNITX_NAME.sub(r"\\text", _SIUNITX.sub(r"\1 \\text{\2}", text))
    plain = _RELATION.split(normalise(text))[-1].strip()
    plain = _ABOUT.sub("", plain.replace("**", "^"))
    number = _BARE_POWER.match(plain) or _NUMBER.match(plain)
    if number is None:
        return None
    rest = plain[number.end() :].strip()
    unit = read_unit(rest.lstrip("*")) if rest else None
    if rest and (unit is None or re.match(r"[!(]|\^(?!\s?\{?\s?\\circ)", rest)):
        return None
    return _quantity(number, unit)


def _quantity(number: "re.Match[str]", unit: Unit | None) -> Quantity | None:
    groups = number.groupdict()
    sign = -1 if groups["sign"] == "-" else 1
    if groups.get("top") or groups.get("over"):
        low = int(groups["low"] or groups["under"])
        if not low:
            return None
        value = Fraction(int(groups["top"] or groups["over"]), low)
        return Quantity(sign * value, unit, Fraction(0), False, 0)
    digits = (groups.get("digits") or "1").replace(",", "").replace(" ", "")
    exponent = groups.get("power") or groups.get("tight") or groups.get("short")
    power = int((exponent or "0").replace(" ", ""))
    if abs(power) > _MAX_EXPONENT:
        return None
    scale = Fraction(10) ** power
    whole, _, decimals = digits.partition(".")
    is_plain = exponent is None
    is_power = "digits" not in groups
    return Quantity(
        sign * Fraction(digits.rstrip(".")) * scale,
        unit,
        Fraction(0) if is_power else scale / (2 * 10 ** len(decimals)),
        is_plain and "." not in digits,
        len(whole) - len(whole.rstrip("0")) if is_plain and "." not in digits else 0,
    )


def agree(reference: Quantity, answer: Quantity, tolerance: float | None = None) -> bool:
    """Say whether an answer is the reference, in whatever unit, within its precision.

    `tolerance` is relative and replaces the precision of the reference's digits. A unit may be
    missing on one side.
    """
    distance = difference(reference, answer, tolerance)
    return distance is not None and distance <= 1


def difference(reference: Quantity, answer: Quantity, tolerance: float | None) -> Fraction | None:
    """Return how far apart two values are, in tolerances; None where no unit joins them."""
    first, second = reference.unit, answer.unit
    if first is not None and second is not None:
        if not measure_the_same(first, second):
            return None
        if first.nouns and second.nouns and first.nouns.isdisjoint(second.nouns):
            return None
        ours = (reference.value + first.shift) * first.factor
        theirs = (answer.value + second.shift) * second.factor
        noise = abs(ours) * _ROUNDING_OF_FACTORS if first.factor != second.factor else Fraction(0)
        allowed = _allowed(reference, tolerance) * first.factor + noise
        return _in_tolerances(ours - theirs, allowed)
    allowed = _allowed(reference, tolerance)
    plain = _in_tolerances(reference.value - answer.value, allowed)
    scaled = _percent_scale(reference, answer)
    other = answer.value * scaled if reference.unit is not None else answer.value / scaled
    return min(plain, _in_tolerances(reference.value - other, allowed))


def _percent_scale(reference: Quantity, answer: Quantity) -> int:
    """25 % is 25 and 0.25."""
    unit = reference.unit or answer.unit
    is_percent = unit is not None and unit.dimension == PERCENT and unit.factor == Fraction(1, 100)
    return 100 if is_percent else 1


def _allowed(reference: Quantity, tolerance: float | None) -> Fraction:
    if tolerance is not None:
        return abs(reference.value) * Fraction(str(tolerance))
    has_measure = reference.unit is not None and bool(reference.unit.dimension)
    is_zero = not reference.value and not (reference.unit and reference.unit.shift)
    if reference.is_count and (is_zero or not has_measure):
        return Fraction(0)
    places = reference.half_place * Fraction(10) ** reference.num_zeros
    return max(reference.half_place, min(places, abs(reference.value) * _PLACES_TOLERANCE))


def _in_tolerances(distance: Fraction, allowed: Fraction) -> Fraction:
    if not distance:
        return Fraction(0)
    return Fraction(abs(distance) / allowed) if allowed else _FAR
