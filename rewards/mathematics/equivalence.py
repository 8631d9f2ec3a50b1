"""The ladder: is an answer equal to the reference? Cheap and exact rungs first.

Text, exact numbers, structures item by item, the size guard, residues, numeric probes, and
math-verify for what our parser doesn't read. The first rung that can decide does.
"""

from functools import lru_cache

from rewards.mathematics.comparison import compare, read, read_beside, says_many
from rewards.mathematics.decision import Decision, Mode, different, equal, unusable
from rewards.mathematics.forms import Items, Union
from rewards.mathematics.intervals import says_a_set
from rewards.mathematics.structure import has_alternatives
from rewards.mathematics.text import normalise, without_condition, without_zero_remainder

MAX_CHARS = 2000
"""Of a reference, or of all parts of an answer together."""
_MAX_REMEMBERED_CHARS = 600
_MAX_NESTING = 100


def decide(reference: str, parts: tuple[str, ...], mode: Mode) -> Decision:
    """Compare an answer, in one or several parts, with the reference; both as they were written.

    The same short texts are decided once and remembered.
    """
    if _is_too_long(reference) or not reference.strip():
        return unusable()
    num_chars = sum(map(len, parts))
    if num_chars > MAX_CHARS or any(map(_is_too_long, parts)):
        return different("size_guard", "too_big")
    is_short = len(reference) + num_chars <= _MAX_REMEMBERED_CHARS
    return (_remembered if is_short else _decide)(reference, parts, mode)


def _decide(reference: str, parts: tuple[str, ...], mode: Mode) -> Decision:
    gold = _normalise(reference)
    if not gold:
        return unusable()
    expected = read(without_condition(gold))
    if len(parts) > 1 and not isinstance(expected, Items | Union):
        return different("structure", "sprayed")
    answer = ", ".join(map(normalise, parts))
    if gold == answer:
        return equal("text", "identical")
    gold = without_condition(gold)
    given = read_beside(without_zero_remainder(without_condition(answer)), expected)
    is_open = has_alternatives(answer) and not has_alternatives(gold)
    if is_open and not says_many(expected) and not says_a_set(given):
        return different("structure", "hedged")
    return compare(expected, given, mode)


_remembered = lru_cache(maxsize=8192)(_decide)
_normalise = lru_cache(maxsize=1024)(normalise)


def _is_too_long(text: str) -> bool:
    if len(text) > MAX_CHARS:
        return True
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest > _MAX_NESTING
