r"""The outer form of an answer: tuple, interval, set, list, union, matrix, ratio, relation.

Texts come from `text.normalise`. Splitting is done on whole brackets, in one pass a level; what is
inside stays text until items are compared.
"""

import re

from rewards.mathematics import clocks
from rewards.mathematics.brackets import outer_brackets, split_top, top_tokens
from rewards.mathematics.forms import (
    Clock,
    Difference,
    Items,
    Matrix,
    Ratio,
    Relation,
    SetBuilder,
    Structure,
    Union,
    Value,
)

_MAX_LEVELS = 4


_OPERATORS = {
    "=": "=",
    "<": "<",
    ">": ">",
    r"\le": "<=",
    r"\ge": ">=",
    r"\ne": "!=",
    r"\in": "in",
    r"\approx": "~",
    r"\equiv": "=",
    r"\rightarrow": "",
}
_PLAIN_RELATIONS = (
    ("<=", r"\le "),
    (">=", r"\ge "),
    ("!=", r"\ne "),
    ("==", "="),
    ("~=", r"\approx "),
)
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?!\d|,\d)")
_GROUPED_FOR_SURE = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})*,0\d\d(?:,\d{3})*(?!\d|,\d)")
"""No item of a list is written `000`."""
_SPACED = re.compile(r"\d, \d|;")
"""With such a separator, a comma without space belongs to a number."""
_MATRIX = re.compile(
    r"\\begin\{(?P<kind>[pbBsv]?(?:small)?matrix|array)\*?\}(?:\{[clr|]*\})?(?P<body>.*)"
    r"\\end\{(?P=kind)\*?\}(?:\^T)?",
    re.DOTALL,
)
_RATIO = re.compile(r"[^:]+(?::[^:]+)+")
_TO = re.compile(r"(?<=\d)(?:\\text\{to\}| to )(?=\d)")
_EMPTY = frozenset({
    r"\emptyset", r"\{\}", r"\text{empty set}", r"\text{no solution}", r"\text{no solutions}",
    r"\text{no real solutions}", r"\text{No solution}", r"\text{No solutions}", "no solution",
})  # fmt: skip
_ALL_REALS = ("(", r"-\infty", r"\infty")
_NAMED_SETS = {
    **dict.fromkeys([r"\mathbb{R}", "all real numbers", "all reals"], _ALL_REALS),
    **dict.fromkeys([r"\text{all real numbers}", r"\text{All real numbers}"], _ALL_REALS),
    **dict.fromkeys(
        [r"\mathbb{R}^+", r"\mathbb{R}^{+}", r"\mathbb{R}_{>0}"], ("(", "0", r"\infty")
    ),
    **dict.fromkeys([r"\mathbb{R}_+", r"\mathbb{R}_{+}"], ("(", "0", r"\infty")),
    r"\mathbb{R}_{\ge 0}": ("[", "0", r"\infty"),
}
_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z])")
_MINUS_PLUS = re.compile(r"\\mp(?![a-zA-Z])")
_AND_OR = re.compile(r"(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|\\text\{(?:and|or)\}")
_HEDGE = re.compile(
    "(?<![A-Za-z\\\\])or(?![A-Za-z])|\\\\text\\{[^{}]*\\bor\\b[^{}]*\\}|\u6216", re.IGNORECASE
)


def has_alternatives(text: str) -> bool:
    """Say whether a text offers one thing "or" another."""
    return _HEDGE.search(text) is not None


def read_structure(text: str, *, prefers_list: bool = False, level: int = 0) -> Structure:
    """Return the outer form of a normalised text.

    `1,234` is one number, but with `prefers_list` two: for when the other side is a list. In
    `1,000, 2,000` it is one number always.
    """
    if level >= _MAX_LEVELS:
        return Value(text)
    for plain, command in _PLAIN_RELATIONS:
        text = text.replace(plain, command)
    reader = _Reader(prefers_list, level)
    return reader.read(text)


class _Reader:
    """Reads one level."""

    def __init__(self, prefers_list: bool, level: int) -> None:
        self._prefers_list = prefers_list
        self._level = level

    def read(self, text: str) -> Structure:
        """Return the first form that fits."""
        readers = (
            self._matrix,
            self._list,
            self._union,
            self._difference,
            _relation,
            self._enclosed,
            self._both_signs,
            _clock_or_ratio,
        )
        for reader in readers:
            found = reader(text)
            if found is not None:
                return found
        return Value(text)

    def _list(self, text: str) -> Structure | None:
        parts = _split_words(_split_list(text, prefers_list=self._prefers_list))
        if len(parts) < 2:
            return None
        items: list[Structure] = []
        for part, item in zip(parts, self._all(parts), strict=True):
            items += item.items if _plus_minus(part) and isinstance(item, Items) else [item]
        return Items("", "", tuple(items), _joint(text))

    def _union(self, text: str) -> Structure | None:
        members = split_top(text, {r"\cup"})
        return Union(self._all(members)) if len(members) > 1 else None

    def _difference(self, text: str) -> Structure | None:
        parts = split_top(text, {r"\setminus", r"\backslash"})
        return Difference(*self._all(parts)) if len(parts) == 2 else None

    def _both_signs(self, text: str) -> Structure | None:
        signs = _plus_minus(text)
        return Items("", "", self._all(signs)) if signs else None

    def _all(self, texts: "list[str]") -> tuple[Structure, ...]:
        return tuple(
            read_structure(each, prefers_list=self._prefers_list, level=self._level + 1)
            for each in texts
        )

    def _enclosed(self, text: str) -> Structure | None:
        r"""Read `(1,2)`, `[1,2)`, `\{1,2\}`, `\emptyset`; None for a formula in parentheses."""
        if text in _EMPTY:
            return Items("{", "}", ())
        named = _NAMED_SETS.get(text)
        if named:
            return Items(named[0], ")", tuple(map(Value, named[1:])))
        ends = outer_brackets(text)
        if ends is None:
            return None
        opening, closing, inside = ends
        if opening == "{":
            head, *condition = split_top(inside, {":", "|"})
            head = head.removesuffix(r"\in\mathbb{R}").strip()
            if len(condition) == 1:
                return SetBuilder(head, self._all(condition)[0])
        parts = _split_list(inside, prefers_list=True)
        if opening == "{":
            expanded = [
                sign for part in _split_words(parts) for sign in _plus_minus(part) or [part]
            ]
            return Items("{", "}", self._all(expanded))
        if len(parts) < 2:
            return self.read(inside) if opening == "[" and closing == "]" and inside else None
        return Items(opening, closing, self._all(parts))

    def _matrix(self, text: str) -> Structure | None:
        match = _MATRIX.fullmatch(text)
        if match is None or r"\begin" in match["body"]:
            return None
        if match["kind"] == "vmatrix":  # a determinant
            return Value(text)
        rows = [row.strip() for row in re.split(r"\\\\(?:\[[^\]]*\])?", match["body"])]
        entries = tuple(self._all(row.split("&")) for row in rows if row)
        if text.endswith("^T"):
            entries = tuple(zip(*entries, strict=False))
        return Matrix(entries)


def _split_list(text: str, *, prefers_list: bool) -> list[str]:
    """Split at commas and semicolons, but not at the commas of numbers."""
    is_doubtful = prefers_list and not _SPACED.search(text)
    return split_top(text, {",", ";"}, keeps=_GROUPED_FOR_SURE if is_doubtful else _GROUPED)


def _split_words(parts: "list[str]") -> "list[str]":
    """Split at "and" and "or" too, and drop those that begin an item."""
    texts = (piece.strip() for part in parts for piece in _AND_OR.split(part))
    return [text for text in texts if text] or parts


def _joint(text: str) -> str:
    words = {re.sub(r"[^a-z]|text", "", word) for word in _AND_OR.findall(text)}
    return "mixed" if len(words) > 1 else "".join(words)


def _relation(text: str) -> Relation | None:
    members, operators, start = [], [], 0
    for place, token in top_tokens(text):
        operator = _OPERATORS.get(token.strip())
        if operator:
            members.append(text[start:place].strip())
            operators.append(operator)
            start = place + len(token)
    members.append(text[start:].strip())
    if not operators or not all(members):
        return None
    return Relation(tuple(members), tuple(operators))


def _clock_or_ratio(text: str) -> Structure | None:
    time = clocks.time_of_day(text)
    if time is not None:
        hour, minute, half = time
        return Clock((hour, minute), half)
    text = _TO.sub(":", text)
    return (
        Ratio(tuple(text.split(":"))) if _RATIO.fullmatch(text) and "\\text" not in text else None
    )


def _plus_minus(text: str) -> list[str]:
    r"""Return both readings of `1 \pm 2`, all signs together; nothing without the sign."""
    if not _PLUS_MINUS.search(text):
        return []
    upper = _MINUS_PLUS.sub("-", _PLUS_MINUS.sub("+", text))
    lower = _MINUS_PLUS.sub("+", _PLUS_MINUS.sub("-", text))
    return [upper.removeprefix("+").strip(), lower]
