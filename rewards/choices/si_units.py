r"""Units of science by dimension: `kJ mol^-1`, `\text{cm/s}^2`, `degrees Celsius`, `L atm/(mol K)`.

A table of its own beside `mathematics.units`: prefixes, derived units over the SI base, scales of
temperature with an offset. A word that is no unit is a noun (`5 electrons`, `2 mol NaCl`).
"""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dimension = tuple[tuple[str, int], ...]
"""Base quantities and their powers, sorted by name."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A factor to SI base units: base value = (value + shift) * factor."""

    factor: Fraction
    dimension: Dimension
    shift: Fraction = Fraction(0)
    nouns: frozenset[str] = frozenset()
    """Further words: what is counted, a substance, a direction."""


PERCENT: Dimension = (("percent", 1),)
_PI = Fraction("3.14159265358979323846264338327950288")
_SOFT = frozenset({"angle", "cycle", "decay"})
"""Dimensions that may go unsaid: rad/s and 1/s, but not rad/s and Hz."""
_PREFIXES = {
    "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1,
    "c": -2, "m": -3, "u": -6, "\u03bc": -6, "n": -9, "p": -12, "f": -15, "a": -18,
}  # fmt: skip
_PREFIX_NAMES = {
    "tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "deci": -1, "centi": -2, "milli": -3,
    "micro": -6, "nano": -9, "pico": -12, "femto": -15,
}  # fmt: skip
_PREFIXED = """
m 1 m : meter metre
g 1/1000 kg : gram gramme
s 1 s : second sec
A 1 A : ampere amp
K 1 K : kelvin
mol 1 mol : mole
cd 1 cd : candela
N 1 kg m s-2 : newton
J 1 kg m2 s-2 : joule
W 1 kg m2 s-3 : watt
Pa 1 kg m-1 s-2 : pascal
C 1 A s : coulomb
V 1 kg m2 s-3 A-1 : volt
\u03a9 1 kg m2 s-3 A-2 : ohm
S 1 kg-1 m-2 s3 A2 : siemens
F 1 kg-1 m-2 s4 A2 : farad
H 1 kg m2 s-2 A-2 : henry
T 1 kg s-2 A-1 : tesla
Wb 1 kg m2 s-2 A-1 : weber
Hz 1 cycle s-1 : hertz
Bq 1 decay s-1 : becquerel
Gy 1 m2 s-2 : gray
Sv 1 m2 s-2 : sievert
rad 1 angle : radian
lm 1 cd : lumen
lx 1 cd m-2 : lux
L 1/1000 m3 : liter litre
l 1/1000 m3 :
eV 1.602176634e-19 kg m2 s-2 : electronvolt
cal 4.184 kg m2 s-2 : calorie
Wh 3600 kg m2 s-2 :
bar 100000 kg m-1 s-2 :
M 1000 mol m-3 : molar
Da 1.66053906660e-27 kg : dalton
pc 3.0856775814913673e16 m : parsec
Ci 3.7e10 decay s-1 : curie
dyn 0.00001 kg m s-2 : dyne
erg 1e-7 kg m2 s-2 :
"""
_UNPREFIXED = """
Nm 1 kg m2 s-2
min 60 s : minute
h 3600 s : hour hr
d 86400 s : day
wk 604800 s : week
yr 31557600 s : year
t 1000 kg : tonne
u 1.66053906660e-27 kg : amu
\u00c5 1e-10 m : angstrom
ha 10000 m2 : hectare
in 0.0254 m : inch inches
ft 0.3048 m : foot feet
yd 0.9144 m : yard
mi 1609.344 m : mile
mph 0.44704 m s-1
kph 5/18 m s-1 : kmh
lb 0.45359237 kg : pound
oz 0.028349523125 kg : ounce
gal 0.003785411784 m3 : gallon
cc 1e-6 m3
atm 101325 kg m-1 s-2 : atmosphere
mmHg 133.322387415 kg m-1 s-2
torr 133.322368421 kg m-1 s-2 : Torr
psi 6894.757293168 kg m-1 s-2
hp 745.69987158227 kg m2 s-3 : horsepower
BTU 1055.05585262 kg m2 s-2 : btu
ly 9460730472580800 m : lightyear
AU 149597870700 m : au
G 0.0001 kg s-2 A-1 : gauss
D 3.33564e-30 A s m : debye
rpm 1/60 cycle s-1
rev 1 cycle : revolution cycle
% 1/100 percent : percent
ppm 1/1000000 percent
"""
_DEGREES = {"C": "273.15", "F": "459.67"}
_SCALES = {
    "\u00b0C": "C", "celsius": "C", "degC": "C", "\u00b0F": "F", "fahrenheit": "F", "degF": "F",
}  # fmt: skip
_POWER_WORDS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cubed": 3}
_FILLERS = frozenset({"of", "the", "a", "an", "unit", "units", "about", "approximately"})
_NO_NOUNS = frozenset({
    "or", "and", "not", "to", "plus", "minus", "times", "million", "billion", "thousand", "hundred",
    "trillion", "dozen", "but", "maybe", "one", "two", "three", "half", "over", "is", "if", "by",
    "than", "more", "less", "least", "most", "between", "from",
})  # fmt: skip
"""Words that change what is said: a text with one of these is no quantity."""
_MAX_NOUNS = 4
_MAX_POWER = 12
_CLEANED = (
    (re.compile(r"\^\s?\{?\\circ\s?\}?\s?(?:\\text\s?\{\s?)?(?=[CFK]\b)"), "\u00b0"),
    (re.compile(r"\^\s?\{?\\circ\s?\}?"), " \u00b0 "),
    (re.compile(r"\\mu(?![a-zA-Z])\s?(?:\\text\s?\{\s?)?"), "\u03bc"),
    (re.compile(r"\\(?:Omega|ohm)(?![a-zA-Z])\s?"), "\u03a9"),
    (re.compile(r"\\(?:AA|angstrom)(?![a-zA-Z])|\u212b"), "\u00c5"),
    (re.compile(r"\\text(?![a-zA-Z])"), " "),
    (re.compile(r"\\frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}"), r" \1/(\2)"),
    (re.compile(r"\^\s?\{?\s?([-+]?)\s?(\d{1,3})\s?\}?"), r"^\1\2 "),
    (re.compile(r"[{}~]|\\(?=\s)"), " "),
)
_TOKEN = re.compile(
    r"(?P<word>[^\W\d_]+|\u00b0[CFK]?|%)(?P<tight>[-+]?\d(?!\d))?|\^(?P<power>[-+]?\d{1,3})"
    r"|(?P<mark>[*/()\[\].,\u00b7-])|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit | None:
    """Return the unit that a normalised text names; None for what can be no unit."""
    text = text.replace("\u00b5", "\u03bc")
    for pattern, spelling in _CLEANED:
        text = pattern.sub(spelling, text)
    reading = _Reading()
    for token in _TOKEN.finditer(text):
        if token["space"]:
            continue
        if token["other"] or not reading.take(token):
            return None
    return reading.unit()


def measure_the_same(first: Unit, second: Unit) -> bool:
    """Say whether two units measure the same; angle and cycle may go unsaid on one side."""
    if first.dimension == second.dimension:
        return True
    ours, theirs = _soft(first.dimension), _soft(second.dimension)
    if ours and theirs:
        return False
    return _hard(first.dimension) == _hard(second.dimension)


def _soft(dimension: Dimension) -> Dimension:
    return tuple(each for each in dimension if each[0] in _SOFT)


def _hard(dimension: Dimension) -> Dimension:
    return tuple(each for each in dimension if each[0] not in _SOFT)


class _Reading:
    """Units multiplied up, token by token; after a stroke or "per" they divide."""

    def __init__(self) -> None:
        self._factor = Fraction(1)
        self._dimension: Counter[str] = Counter()
        self._nouns: list[str] = []
        self._scale = ""
        self._sign, self._prefix, self._num_units = 1, 1, 0
        self._last: tuple[Unit, int] | None = None

    def take(self, token: "re.Match[str]") -> bool:
        """Take one token; False for what no unit has."""
        if token["power"]:
            return self._raise(int(token["power"]))
        if token["mark"]:
            if token["mark"] == "/":
                self._sign = -1
            return True
        word, tight = token["word"], token["tight"]
        if not self._take_word(word):
            return False
        return self._raise(int(tight)) if tight else True

    def unit(self) -> Unit | None:
        """Return the whole; None without any word or with too many."""
        if len(self._nouns) > _MAX_NOUNS or not (self._num_units or self._nouns):
            return None
        powers = tuple(sorted((name, power) for name, power in self._dimension.items() if power))
        is_scale = self._scale and self._num_units == 1 and powers == (("K", 1),)
        shift = Fraction(_DEGREES[self._scale]) if is_scale else Fraction(0)
        return Unit(self._factor, powers, shift, frozenset(map(_singular, self._nouns)))

    def _take_word(self, word: str) -> bool:
        lower = word.lower()
        if lower == "per":
            self._sign = -1
        elif lower in ("squared", "cubed"):
            return self._raise(_POWER_WORDS[lower])
        elif lower in _POWER_WORDS:
            self._prefix = _POWER_WORDS[lower]
        elif lower in ("degree", "degrees", "deg", "\u00b0"):
            self._times_new(Unit(_PI / 180, (("angle", 1),)))
        elif word in _SCALES or lower in _SCALES:
            self._take_scale(_SCALES.get(word) or _SCALES[lower])
        else:
            return self._take_name(word)
        return True

    def _take_scale(self, scale: str) -> None:
        if self._last and self._last[0].dimension == (("angle", 1),):  # "degrees Celsius"
            self._times(self._last[0], -self._last[1])
            self._num_units -= 1
        self._scale = scale
        self._times_new(Unit(Fraction(1) if scale == "C" else Fraction(5, 9), (("K", 1),)))

    def _take_name(self, word: str) -> bool:
        unit = known_unit(word)
        if unit is not None:
            self._times_new(unit)
        elif word.lower() in _NO_NOUNS or (len(word) == 1 and word != "\u00b0"):
            return False
        elif word.lower() not in _FILLERS:
            self._nouns.append(word.lower())
            self._last = None
        return True

    def _times_new(self, unit: Unit) -> None:
        power = self._sign * self._prefix
        self._times(unit, power)
        self._last, self._prefix = (unit, power), 1
        self._num_units += 1

    def _raise(self, power: int) -> bool:
        """Raise the last unit; `/K^{-1}` is `K^{-1}`."""
        if self._last is None or not 0 < abs(power) <= _MAX_POWER:
            return False
        unit, sign = self._last
        target = -abs(power) if sign < 0 else power
        self._times(unit, target - sign)
        self._last = None
        return True

    def _times(self, unit: Unit, power: int) -> None:
        for name, each in unit.dimension:
            self._dimension[name] += each * power
        self._factor *= unit.factor**power


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=4096)
def known_unit(word: str) -> Unit | None:
    """Return a unit by symbol (`kPa`, as written) or by name (`kilopascals`, in any case)."""
    symbols, names, plain = _tables()
    if word in plain:
        return plain[word]
    if word in symbols:
        return symbols[word]
    for length in (1, 2):
        power, unit = _PREFIXES.get(word[:length]), symbols.get(word[length:])
        if power is not None and unit is not None:
            return _scaled(unit, power)
    return _by_name(word.lower(), names)


def _by_name(word: str, names: dict[str, Unit]) -> Unit | None:
    for name in (word, word.removesuffix("s"), word.removesuffix("es")):
        if name in names:
            return names[name]
    for prefix, power in _PREFIX_NAMES.items():
        if word.startswith(prefix):
            unit = _tables()[1].get(_singular(word.removeprefix(prefix)))
            if unit is not None:
                return _scaled(unit, power)
    return None


def _scaled(unit: Unit, power: int) -> Unit:
    return Unit(unit.factor * Fraction(10) ** power, unit.dimension)


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, Unit], dict[str, Unit], dict[str, Unit]]:
    """Return symbols that take prefixes, names, and symbols that take none."""
    symbols: dict[str, Unit] = {}
    names: dict[str, Unit] = {}
    plain: dict[str, Unit] = {}
    for table, target in ((_PREFIXED, symbols), (_UNPREFIXED, plain)):
        for line in table.strip().splitlines():
            symbol, unit, aliases = _read_line(line)
            target[symbol] = unit
            for alias in aliases:
                names[alias] = unit
                if not alias.islower():
                    plain[alias] = unit
    return symbols, names, plain


def _read_line(line: str) -> tuple[str, Unit, list[str]]:
    definition, _, aliases = line.partition(":")
    symbol, factor, *parts = definition.split()
    dimension = []
    for part in parts:
        match = re.fullmatch(r"(?P<name>[a-zA-Z]+)(?P<power>-?\d)?", part)
        assert match is not None
        dimension.append((match["name"], int(match["power"] or 1)))
    return symbol, Unit(Fraction(factor), tuple(sorted(dimension))), aliases.split()
