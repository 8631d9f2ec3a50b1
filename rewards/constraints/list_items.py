"""Items of lists: bullets, numbers, letters and Roman numerals at the start of a line."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import regex

from rewards.constraints.text import has_words

_ITEM = regex.compile(
    r"^(?P<indent>[^\S\n]*)(?:(?P<bullet>[*+\u2022-])"
    r"|(?P<open>\(?)(?P<mark>\d{1,4}|[A-Za-z]|[ivx]{1,5}|[IVX]{1,5})(?P<close>[.)]))"
    r"[^\S\n]+(?P<item>\S.*)$",
    regex.MULTILINE,
)
_ROMAN = {"i": 1, "v": 5, "x": 10}


def list_items(text: str) -> list[str]:
    """Return the items of lists, without their marks; those without words are left out.

    A number, letter or Roman numeral with a point marks an item only in a row with its neighbours:
    "I. Then", "J. Smith" and "1984. That" begin lines of prose too.
    """
    found = [item for item in _ITEM.finditer(text) if has_words(item["item"])]
    rows = defaultdict(list)
    for item in found:
        if not item["bullet"]:
            rows[item["indent"].expandtabs(), item["close"], _case(item["mark"])].append(item)
    counted = {item.start() for row in rows.values() for item in _in_order(row)}
    return [item["item"] for item in found if item["bullet"] or item.start() in counted]


def _case(mark: str) -> str:
    return "digit" if mark.isdigit() else "upper" if mark.isupper() else "lower"


def _in_order(row: Sequence[regex.Match[str]]) -> list[regex.Match[str]]:
    """Return the marks of one style that go on from the one before, are gone on from, or begin."""
    places = [_places(item["mark"]) for item in row]
    follows = [False, *(_are_neighbours(*pair) for pair in pairwise(places)), False]
    return [
        item
        for index, item in enumerate(row)
        if follows[index] or follows[index + 1] or _begins(item, places[index])
    ]


def _begins(item: regex.Match[str], places: set[int]) -> bool:
    """Whether a mark begins a list though nothing goes on from it: `1.`, `a)`, `i)`."""
    return 1 in places and (item["mark"].isdigit() or item["close"] == ")")


def _are_neighbours(before: set[int], after: set[int]) -> bool:
    """Whether one mark is next to the other; equal ones are, as in `1. 1. 1.`"""
    return any(abs(first - second) <= 1 for first in before for second in after)


def _places(mark: str) -> set[int]:
    """Return which places in a list a mark can name: `i` is the ninth letter or Roman one."""
    if mark.isdigit():
        return {int(mark)}
    letters = mark.lower()
    places = {ord(letters) - ord("a") + 1} if len(letters) == 1 else set()
    return places | ({_roman(letters)} if set(letters) <= set(_ROMAN) else set())


def _roman(letters: str) -> int:
    values = [_ROMAN[letter] for letter in letters]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )
