r"""Number literals as exact fractions: `1,234.5`, `-\frac{3}{4}`, `2\frac{1}{3}`, `1.2*10^{-3}`.

Texts come from `text.normalise`. What is no literal is None; nothing is evaluated.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

_MAX_EXPONENT = 5000
_DECIMAL = r"\d{1,3}(?:[, ]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+"
_PLAIN = re.compile(rf"(?P<sign>[+-]?)(?P<digits>{_DECIMAL})")
_FRACTION = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>\d+)(?: ?(?=\\frac)| (?=\d+/)))?"
    r"(?:\\frac ?(?:\{(?P<top>[+-]?\d+)\}|(?P<top1>\d))(?:\{(?P<low>[+-]?\d+)\}| ?(?P<low1>\d))"
    r"|(?P<over>\d+)/(?P<under>\d+))"
)
_SCIENTIFIC = re.compile(
    rf"(?P<sign>[+-]?)(?P<digits>{_DECIMAL})"
    r"(?:\*10\^(?:\{(?P<power>[+-]?\d+)\}|(?P<power1>[+-]?\d+))|[eE](?P<power2>[+-]?\d+))"
)
_REPEATING = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d*)\.(?P<fixed>\d*)"
    r"(?:\\(?:overline|bar) ?\{?(?P<period>\d+)\}?|\\dot ?\{?(?P<dotted>\d)\}?)"
)
_BASED = re.compile(
    r"(?P<open>\()?(?P<digits>(?=[A-F]*\d)[0-9A-F]+)(?(open)\))"
    r"_(?:\{(?P<base>\d+)\}|(?P<base1>\d+)|\{?\\text\{(?P<word>[a-z]+)\}\}?)"
)
NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "zero": 0, "one": 1,
}  # fmt: skip
"""Words that are a whole answer, or a base."""
_SIGNIFICANT_OF_A_DOUBLE = 15
_MAX_SIGNIFICANT_OF_SHORT = 12


@dataclass(frozen=True, slots=True)
class BasedNumber:
    """A literal with its base: `1011_2`."""

    digits: str
    """Without leading zeros."""
    base: int


def exact_number(text: str) -> Fraction | None:
    """Return the value of a literal: integer, decimal, fraction, mixed, scientific, repeating."""
    plain = _PLAIN.fullmatch(text)
    if plain:
        return _signed(plain["sign"], _decimal(plain["digits"]))
    for pattern, read in _READERS:
        match = pattern.fullmatch(text)
        if match:
            return read(match)
    return None


def based_number(text: str) -> BasedNumber | None:
    """Return a literal that names its base; None for others and for digits the base lacks."""
    match = _BASED.fullmatch(text)
    if match is None:
        return None
    digits = match["base"] or match["base1"]
    base = int(digits[:4]) if digits else NUMBER_WORDS.get(match["word"], 0)
    if not 2 <= base <= 36 or any(int(digit, 36) >= base for digit in match["digits"]):
        return None
    return BasedNumber(match["digits"].lstrip("0") or "0", base)


def decimal_places(text: str) -> int | None:
    """Return how many digits follow the point of a plain decimal; None for other texts."""
    plain = _PLAIN.fullmatch(text)
    return len(plain["digits"].partition(".")[2]) if plain else None


def is_float_noise(reference: str, answer: str) -> bool:
    """Say whether a decimal is the reference but for the rounding of binary floating point.

    `0.30000000000000004` is `0.3`. A short reference and a long decimal only: digits that were
    given in full are compared in full.
    """
    if decimal_places(reference) is None or not decimal_places(answer):
        return False
    target, value = exact_number(reference), exact_number(answer)
    if not target or value is None:
        return False
    is_short = _num_significant(reference) <= _MAX_SIGNIFICANT_OF_SHORT
    is_long = _num_significant(answer) >= _SIGNIFICANT_OF_A_DOUBLE
    distance = abs(value - target) * Fraction(10) ** _SIGNIFICANT_OF_A_DOUBLE
    return is_short and is_long and distance <= abs(target)


def _num_significant(text: str) -> int:
    return len(re.sub(r"\D", "", text).lstrip("0"))


def _decimal(digits: str) -> Fraction:
    return Fraction(digits.replace(",", "").replace(" ", "").rstrip("."))


def _signed(sign: str, value: Fraction) -> Fraction:
    return -value if sign == "-" else value


def _fraction(match: "re.Match[str]") -> Fraction | None:
    top = int(match["top"] or match["top1"] or match["over"])
    low = int(match["low"] or match["low1"] or match["under"])
    if low == 0 or (match["whole"] and not 0 < top < low):
        return None
    return _signed(match["sign"], int(match["whole"] or 0) + Fraction(top, low))


def _scientific(match: "re.Match[str]") -> Fraction | None:
    power = match["power"] or match["power1"] or match["power2"]
    if len(power) > 6 or abs(int(power)) > _MAX_EXPONENT:
        return None
    return _signed(match["sign"], _decimal(match["digits"]) * Fraction(10) ** int(power))


def _repeating(match: "re.Match[str]") -> Fraction:
    period = match["period"] or match["dotted"]
    fixed = Fraction(int(match["fixed"] or 0), 10 ** len(match["fixed"]))
    tail = Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(match["fixed"]))
    return _signed(match["sign"], int(match["whole"] or 0) + fixed + tail)


_READERS = ((_FRACTION, _fraction), (_SCIENTIFIC, _scientific), (_REPEATING, _repeating))
