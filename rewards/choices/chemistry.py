r"""Chemical formulas and equations in one spelling: `\mathrm{SO_4^{2-}}`, `SO4 2-`, `\ce{SO4^2-}`.

Case matters (CO is not Co), charges count, indices are folded. Without a caret `Fe3+` may be read
in two ways; two formulas are the same if they have a reading in common.
"""

import re
from functools import lru_cache

MAX_CHARS = 300
_ELEMENTS = frozenset({
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl",
    "Ar", "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As",
    "Se", "Br", "Kr", "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In",
    "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb",
    "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl",
    "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk",
    "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh",
    "Fl", "Mc", "Lv", "Ts", "Og",
})  # fmt: skip
_WORDS = frozenset({"No", "In", "As", "At", "Be", "Am", "Es"})
"""Symbols that are rather words."""
_CAPITALS = frozenset({
    "CO", "NO", "HF", "HI", "KF", "KI", "CN", "OH", "BN", "CS", "HCN", "KCN", "KOH",
    "HNO", "HOF", "HOI", "KOCN", "HOCN",
})  # fmt: skip
"""Formulas of capitals alone; others are rather products or abbreviations (IV, FCC)."""
_RAISED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b", "0123456789+-"
)
_LOWERED = {0x2080 + digit: str(digit) for digit in range(10)}
_RAISED_RUN = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a\u207b]+")
_MARKUP = re.compile(
    r"\\(?:ce|text(?:bf|rm|it)?|mathrm|mathbf|mathsf|mbox|rm|displaystyle)(?![a-zA-Z])|\\[,;:! ()]"
    r"|\$|\*\*|`|\{\}"
)
_ARROW = re.compile(
    r"\\(?:long)?(?:right|leftright)arrow|\\to(?![a-z])|\\rightleftharpoons"
    r"|<?[-=]+>|[\u2192\u27f6\u21cc\u21c4\u21d2]"
)
_DOT = re.compile(r"\\cdot|[\u00b7\u2022\u22c5\u2219*]")
_STATE = re.compile(r"\((?:aq|s|l|g)\)")
_INDEX = re.compile(r"_\s?(?:\{\s?(\d{1,3})\s?\}|(\d{1,3}))")
_CHARGE = re.compile(
    r"\^\s?(?:\{\s?(?P<a>\d{0,2})\s?(?P<b>[+-])\s?\}|\{\s?(?P<c>[+-])(?P<d>\d{0,2})\s?\}"
    r"|(?P<e>\d{0,2})(?P<f>[+-]))"
)
_TAIL_CHARGE = re.compile(
    r"(?P<body>.*?[A-Za-z\d)\]])(?P<space>\s*)(?P<digits>\d{0,2})(?P<signs>[+-]{1,3})"
)
_BODY = re.compile(r"(?:[A-Z][a-z]?\d{0,3}|[()\[\]]|(?<=[)\]])\d{1,3})+")
_SYMBOL = re.compile(r"[A-Z][a-z]?")

Reading = frozenset[str]
"""All spellings that a text may stand for."""


def is_formula(text: str) -> bool:
    """Say whether a text is rather a chemical formula than a word, a product or a quantity."""
    return _is_formula(text.strip())


@lru_cache(maxsize=2048)
def _is_formula(text: str) -> bool:
    readings = read_formula(text)
    if not readings:
        return False
    bare = _plain(text)
    if bare in _WORDS or len(bare) == 1:
        return False
    if bare.isalpha() and bare.isupper():
        return bare in _CAPITALS
    return re.search("[A-Za-z]", bare) is not None


@lru_cache(maxsize=2048)
def read_formula(text: str) -> Reading:
    """Return the readings of a formula or equation; none for another text."""
    if len(text) > MAX_CHARS:
        return frozenset()
    sides = _ARROW.split(_plain(text))
    if len(sides) > 2:
        return frozenset()
    found: Reading = frozenset({""})
    for side in sides:
        terms = sorted(_term(term) for term in re.split(r"\s\+\s", side.strip()))
        if any(not term for term in terms):
            return frozenset()
        joined = [
            " + ".join(sorted(each)) for each in _products([set(t.split("|")) for t in terms])
        ]
        found = frozenset(f"{a} -> {b}" if a else b for a in found for b in joined)
    return found


def _products(choices: list[set[str]]) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    for choice in choices[:8]:
        rows = [[*row, each] for row in rows for each in sorted(choice)][:64]
    return rows


def _plain(text: str) -> str:
    text = _RAISED_RUN.sub(lambda run: "^{" + run.group().translate(_RAISED) + "}", text)
    text = text.translate(_LOWERED).replace("\u2212", "-").replace("\u2013", "-")
    text = _INDEX.sub(lambda m: m[1] or m[2], _MARKUP.sub("", text))
    text = _CHARGE.sub(_charge, text)
    text = _DOT.sub(".", text)
    text = re.sub(r"[{}]", "", text)
    return re.sub(r"\s*\.\s*(?=\d*[A-Z])", ".", _STATE.sub("", text)).strip().rstrip(".,; ")


def _charge(match: "re.Match[str]") -> str:
    digits = match["a"] or match["d"] or match["e"] or ""
    return f"^{digits}{match['b'] or match['c'] or match['f']}"


def _term(term: str) -> str:
    """Return the readings of one species, with a stroke between; nothing for other texts."""
    number, rest = re.fullmatch(r"(\d{0,3})\s?(.*)", term.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    number = "" if number == "1" else number
    readings = []
    for body, charge in _charges(rest):
        parts = body.split(".")
        if all(
            _is_body(re.sub(r"^\d{1,2}", "", part) if n else part) for n, part in enumerate(parts)
        ):
            readings.append(f"{number} {body}^{charge}".strip())
    return "|".join(readings)


def _charges(text: str) -> list[tuple[str, str]]:
    """Return body and charge, in the ways in which they can be told apart."""
    body, caret, charge = text.partition("^")
    if caret:
        return [(body.strip(), charge.lstrip("1"))] if re.fullmatch(r"\d{0,2}[+-]", charge) else []
    tail = _TAIL_CHARGE.fullmatch(text)
    if not tail:
        return [(text, "")]
    body, digits, sign = tail["body"], tail["digits"], tail["signs"][0]
    if len(tail["signs"]) > 1:
        return [] if digits else [(body, f"{len(tail['signs'])}{sign}")]
    if tail["space"]:
        return [(body, digits.lstrip("1") + sign)]
    whole = body + digits
    readings = [(whole, sign)]
    if whole[-1].isdigit() and len(whole) > 1:
        readings.append((whole[:-1], whole[-1].lstrip("1") + sign))
    return readings


def _is_body(text: str) -> bool:
    if not _BODY.fullmatch(text) or text.count("(") != text.count(")"):
        return False
    return all(symbol in _ELEMENTS for symbol in _SYMBOL.findall(text))
