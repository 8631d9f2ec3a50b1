r"""Units: split off a quantity, and compared by dimension: 12 cm is 120 mm and not 12 m.

A word that is no known unit is a noun (`5\text{ apples}`), a dimension of its own; one or two
letters, and words that change a number (`5\text{ tenths}`), are none.
"""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from rewards.mathematics.unit_words import (
    BASE,
    COMPOUND,
    DERIVED,
    FILLERS,
    MULTIPLIERS,
    NO_NOUNS,
    POWERS,
    VOLUMES,
)

Dimension = tuple[tuple[str, int], ...]
"""Base quantities and their powers, sorted by name."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A factor to the base unit of a dimension."""

    factor: Fraction
    dimension: Dimension
    """Empty for "units" and "square units", which say nothing."""
    multiplier: int = 1
    """Of the number before it: a million in "million dollars"."""

    @property
    def modulus(self) -> int:
        """Of a residue such as `3\\pmod 7`; 0 for other units and moduli that are no number."""
        name = self.dimension[0][0] if len(self.dimension) == 1 else ""
        digits = name.removeprefix("mod:")
        return int(digits) if name.startswith("mod:") and digits.isdecimal() else 0


PERCENT = Unit(Fraction(1, 100), (("percent", 1),))
DEGREE: Dimension = (("angle", 1),)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value's text and its unit."""

    value: str
    unit: Unit | None


_POUND = Fraction("0.45359237")
_TOKEN = re.compile(
    r"\\text\{(?P<text>[^{}]*)\}|(?P<power>\^(?:\{-?\d\}|-?\d))|(?P<word>[A-Za-z]+)"
    r"|\\(?P<command>[A-Za-z]+)|(?P<space> )|(?P<other>.)",
    re.DOTALL,
)
_DEGREES = re.compile(r"\^\\circ ?(?:\\text\{ ?)?(?P<scale>[CFK])?\}?$")
_COUNTED = re.compile(r"(?P<number>[+-]?[\d.,/]*\d)(?: [A-Za-z]{3,}){1,4}")
"""A plain number with words behind it, as in running text."""
_TRIGONOMETRIC = re.compile(r"sin|cos|tan|cot|sec|csc")
"""Degrees behind one of these belong to its argument."""
_MODULUS = re.compile(r"\(?\\(?:pmod|mod) ?\{?(?P<number>[^{}()\\]+)\}?\)?$")
_WORD_OR_MARK = re.compile(r"[^\W\d_]+|\^ ?-?\d|.", re.DOTALL)
_MONEY = re.compile(
    r"(?P<sign>[+-]?)(?:\\dollar ?|(?P<mark>[\u20ac\u00a3\u00a5\u20b9]) ?)(?=[\d.\\+-])"
)
_MARKS = {"\u20ac": "euro", "\u00a3": "gbp", "\u00a5": "yen", "\u20b9": "rupee"}
_CHINESE_UNITS = {
    "\u5143": "yuan", "\u7c73": "meter", "\u5398\u7c73": "cm", "\u6beb\u7c73": "mm",
    "\u5343\u7c73": "km", "\u516c\u91cc": "km",
    "\u5343\u514b": "kg", "\u516c\u65a4": "kg", "\u514b": "gram",
    "\u5c0f\u65f6": "hour", "\u5206\u949f": "minute", "\u79d2": "second",
    "\u5929": "day", "\u5347": "liter",
}  # fmt: skip
_CHINESE = re.compile(
    f"(?P<value>.*[\\d)}}]) ?(?P<word>{'|'.join(_CHINESE_UNITS)}"
    "|[\u4e2a\u5c81\u4eba\u53ea\u672c\u5f20\u6761\u6b21\u79cd\u5e74\u68f5\u652f\u5757\u9875\u540d\u4f4d\u8f86\u53f0\u4ef6])"
)
"""A unit or a measure word behind a value, none that changes a number."""
_VALUE_END = re.compile(r"[\w})\]!|]$")
_MAX_NOUN_WORDS = 4
_NOUN_MIN_LETTERS = 3
_BARE_MIN_LETTERS = 2
_NEVER_BARE = frozenset({"nm", "ms", "mg", "ha", "kj", "kw", "deg", "sec", "min"})
"""Letters that are rather variables or functions where no `\\text` marks them."""


@lru_cache(maxsize=4096)
def split_quantity(text: str, *, may_be_letter: bool = False) -> Quantity:
    """Split a normalised text into value and unit.

    A lone letter without `\\text` is a variable (`6m`), unless `may_be_letter`: for when the
    other side has a unit.
    """
    money = _MONEY.match(text)
    if money:
        unit = known_unit(_MARKS.get(money["mark"] or "", "dollar"))
        rest = split_quantity(money["sign"] + text[money.end() :])
        return Quantity(rest.value, unit)
    if text.endswith("%") and len(text) > 1:
        return Quantity(text[:-1].rstrip(), PERCENT)
    chinese = _CHINESE.fullmatch(text)
    if chinese:
        unit = known_unit(_CHINESE_UNITS.get(chinese["word"], ""))
        counted = Unit(Fraction(1), ((f"noun:{chinese['word']}", 1),))
        return Quantity(chinese["value"], unit or counted)
    degrees = _DEGREES.search(text)
    if degrees and degrees.start() > 0 and not _TRIGONOMETRIC.search(text):
        scale = degrees["scale"]
        unit = known_unit(f"deg{scale.lower()}" if scale in ("C", "F") else "degree")
        return Quantity(text[: degrees.start()], unit)
    modulus = _MODULUS.search(text)
    if modulus and modulus.start() > 0:
        name = f"mod:{modulus['number'].strip()}"
        return Quantity(text[: modulus.start()].rstrip(" ("), Unit(Fraction(1), ((name, 1),)))
    noun = _COUNTED.fullmatch(text)
    start = noun.end("number") if noun else _unit_start(text, may_be_letter)
    unit = read_unit(text[start:]) if start < len(text) else None
    if unit is None:
        return Quantity(text, None)
    value = text[:start].rstrip(" *")
    if unit.multiplier != 1:
        value = f"({value})*{unit.multiplier}"
    return Quantity(value, unit if unit.dimension else None)


def _unit_start(text: str, may_be_letter: bool) -> int:
    """Return where the unit at the end begins; the text's length if there is none."""
    start = len(text)
    if text.endswith(("*", "/")):
        return start
    for token in reversed(list(_TOKEN.finditer(text))):
        if token["text"] is not None or (token["word"] and _is_bare(token["word"], may_be_letter)):
            start = token.start()
        elif not (token["power"] or token["space"] or token.group() in "/*"):
            break
    value = text[:start].rstrip(" *")
    return start if value and _VALUE_END.search(value) else len(text)


def _is_bare(word: str, may_be_letter: bool) -> bool:
    if word in ("per", "square", "cubic", "sq", "squared", "cubed", "unit", "units"):
        return True
    known = known_unit(word.lower() if len(word) > 2 else word) is not None
    is_long = len(word) >= _BARE_MIN_LETTERS and word not in _NEVER_BARE
    return known and (is_long or may_be_letter)


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit | None:
    r"""Return the unit that a text names: `cm^2`, `\text{square feet}`, `km per hour`, `apples`.

    None for what can be no unit: too many words, or marks that units don't have.
    """
    reading = _Reading()
    marks = _marks(text)
    for mark in marks:
        if not reading.take(mark):
            return None
    return reading.unit() if marks else None


def _marks(text: str) -> list[str]:
    """Return words, powers such as `^2`, and single marks."""
    plain = text.replace(r"\text", " ").replace("{", " ").replace("}", " ")
    return [mark for mark in _WORD_OR_MARK.findall(plain) if not mark.isspace()]


class _Reading:
    """Units multiplied up, word by word."""

    def __init__(self) -> None:
        self._factor = Fraction(1)
        self._dimension: Counter[str] = Counter()
        self._nouns: list[str] = []
        self._sign = self._prefix = self._multiplier = 1
        self._last: tuple[Unit, int] | None = None

    def take(self, mark: str) -> bool:
        """Take one word or mark; False for what no unit has."""
        word = mark.lower()
        if mark == "/" or word == "per":
            self._sign = -1
        elif word in ("square", "sq", "cubic", "cu"):
            self._prefix = POWERS[word]
        elif mark == "^":
            return False
        elif mark.startswith("^") or word in ("squared", "cubed"):
            return self._raise(POWERS.get(word) or int(mark[1:].strip()))
        elif mark.isalpha():
            self._take_word(mark)
        else:
            return mark in "*.-,()"
        return True

    def unit(self) -> Unit | None:
        """Return the whole; None if there were too many words."""
        is_short = any(len(noun) < _NOUN_MIN_LETTERS for noun in self._nouns)
        is_long = len(self._nouns) > _MAX_NOUN_WORDS
        if is_short or is_long or not NO_NOUNS.isdisjoint(self._nouns):
            return None
        total = Counter(self._dimension)
        if self._nouns:
            total["noun:" + " ".join(self._nouns)] += 1
        powers = tuple(sorted((name, power) for name, power in total.items() if power))
        if powers == (("percent", 1),):
            return PERCENT
        return Unit(self._factor, powers, self._multiplier)

    def _take_word(self, mark: str) -> None:
        word = mark.lower()
        unit = known_unit(mark if len(mark) <= 2 else word)
        if unit is not None:
            self._times(unit, self._sign * self._prefix)
            self._last = (unit, self._sign * self._prefix)
        elif word in MULTIPLIERS:
            self._multiplier *= MULTIPLIERS[word]
        elif word not in FILLERS:
            self._nouns.append(_singular(word))
            self._last = None
        self._prefix = 1

    def _raise(self, power: int) -> bool:
        if self._last is None:
            return False
        unit, times = self._last
        self._times(unit, times * (power - 1))
        return True

    def _times(self, unit: Unit, power: int) -> None:
        for name, each in unit.dimension:
            self._dimension[name] += each * power
        self._factor *= unit.factor**power


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def known_unit(name: str) -> Unit | None:
    """Return a unit of the table by one of its names; one or two letters are taken as written."""
    return _units().get(name)


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for quantity, names in BASE.items():
        for name in names.split():
            units[name] = Unit(Fraction(1), ((quantity, 1),))
    for quantity, table in DERIVED.items():
        for factor, names in table.items():
            for name in names.split():
                units[name] = Unit(Fraction(factor), ((quantity, 1),))
    for factor, names in VOLUMES.items():
        for name in names.split():
            units[name] = Unit(Fraction(factor), (("length", 3),))
    for name in ("L", "mL"):
        units[name] = units[name.lower()]
    radian = Unit(Fraction(1), (("radian", 1),))
    units |= {"rad": radian, "radian": radian, "radians": radian}
    for name, spelled in COMPOUND.items():
        above, below = (units[each] for each in spelled.split("/"))
        dimension = tuple(sorted([*above.dimension, *((each, -n) for each, n in below.dimension)]))
        units[name] = Unit(above.factor / below.factor, dimension)
    return units


def are_compatible(first: Unit, second: Unit) -> bool:
    """Say whether two units measure the same.

    Nouns may have further words ("red apple"), and describe a measure ("5 cm long").
    """
    if first.dimension == second.dimension or are_of_one_name(first, second):
        return True
    measure, other = _without_nouns(first), _without_nouns(second)
    nouns, others = _noun_words(first), _noun_words(second)
    is_described = bool(measure) and not (nouns and others)
    return measure == other and (is_described or bool(nouns & others))


def are_of_one_name(first: Unit, second: Unit) -> bool:
    """Say whether both are "pounds" or "degrees", whose kind the text may leave open."""
    kinds = {unit.dimension[0][0] for unit in (first, second) if len(unit.dimension) == 1}
    if kinds == {"mass", "money:pound"}:
        return _POUND in (first.factor, second.factor)
    return kinds in ({"angle", "temperature:C"}, {"angle", "temperature:F"})


def _without_nouns(unit: Unit) -> Dimension:
    return tuple(each for each in unit.dimension if not each[0].startswith("noun:"))


def _noun_words(unit: Unit) -> set[str]:
    nouns = (name.removeprefix("noun:") for name, _ in unit.dimension if name.startswith("noun:"))
    return {word for noun in nouns for word in noun.split()}
