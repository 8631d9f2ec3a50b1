"""Constraints of our own that training data wants: order, items, schemas, lengths, patterns.

`content:substance` guards against texts that meet the others by saying nothing.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import jsonschema
import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.list_items import list_items
from rewards.constraints.sentences import sentences
from rewards.constraints.text import (
    compare,
    keyword_pattern,
    plain_letters,
    search,
    straight,
    strict_json,
    tokens,
)

MIN_WORDS = 10
"""Words that `content:substance` and the guard ask for where a row says nothing else."""
MAX_REPETITION = 0.5
"""Largest share of runs of four words that were there before."""
_MAX_ONE_WORD = 0.35
"""Largest share of a text of 20 words or more that is one word."""
_LONG_ENOUGH = 20
_RUN = 4
_UNIT = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+")
"""A word, or a character of a script without spaces."""


def keyword_order(text: str, *, keywords: tuple[str, ...]) -> bool:
    """Each keyword stands there as a whole word, after the one named before it."""
    plain, start = straight(text), 0
    for keyword in keywords:
        found = keyword_pattern(keyword).search(plain, start)
        if found is None:
            return False
        start = found.end()
    return True


def sorted_items(text: str, *, descending: bool = False) -> bool:
    """The list has two items or more, in alphabetical order; case and accents don't count."""
    found = [plain_letters(item).strip("*_`\"' ") for item in list_items(text)]
    ordered = pairwise(found[::-1] if descending else found)
    return len(found) > 1 and all(before <= after for before, after in ordered)


def number_items(text: str, *, relation: str, num_items: int) -> bool:
    """So many list items: bullets, numbers or letters at the start of a line."""
    return compare(len(list_items(text)), relation, num_items)


def json_schema(text: str, *, schema: Mapping[str, Any]) -> bool:
    """The whole text is JSON, bare or in one fence, that the schema accepts."""
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        return bool(validator(schema).is_valid(strict_json(text)))
    except (ValueError, RecursionError):
        return False


def length_words(text: str, *, min_words: int = 0, max_words: int | None = None) -> bool:
    """The number of words is within the limits, which are included."""
    return _is_within(len(tokens(text)), min_words, max_words)


def length_sentences(
    text: str, *, min_sentences: int = 0, max_sentences: int | None = None
) -> bool:
    """The number of sentences is within the limits, which are included."""
    return _is_within(len(sentences(text)), min_sentences, max_sentences)


def length_characters(
    text: str, *, min_characters: int = 0, max_characters: int | None = None
) -> bool:
    """The number of characters, spaces at the ends aside, is within the limits."""
    return _is_within(len(text.strip()), min_characters, max_characters)


def _is_within(number: int, lowest: int, highest: int | None) -> bool:
    return lowest <= number and (highest is None or number <= highest)


def pattern_present(text: str, *, pattern: str) -> bool:
    """The pattern matches somewhere; `^` and `$` are the ends of the text."""
    return search(unicodedata.normalize("NFC", pattern), text.strip())


def pattern_absent(text: str, *, pattern: str) -> bool:
    """The pattern matches nowhere."""
    return not pattern_present(text, pattern=pattern)


def has_substance(
    text: str, *, min_words: int = MIN_WORDS, max_repetition: float = 100 * MAX_REPETITION
) -> bool:
    """So many words, and not the same ones over and over.

    `max_repetition` is the largest percentage of runs of four words that were there before. In
    scripts without spaces each character is a word.
    """
    units = _UNIT.findall(text.casefold())
    if len(units) < min_words:
        return False
    runs = list(zip(*(units[start:] for start in range(_RUN)), strict=False))
    repeated = len(runs) - len(set(runs))
    if repeated * 100 > max_repetition * len(runs):
        return False
    most = max(Counter(units).values(), default=0)
    return len(units) < _LONG_ENOUGH or most <= _MAX_ONE_WORD * len(units)


def _limits(unit: str) -> dict[str, Any]:
    lower, upper = f"min_{unit}", f"max_{unit}"
    return {
        "optional": {lower: kinds.count, upper: kinds.count},
        "objection": kinds.some_limit(lower, upper),
    }


CONSTRAINTS = {
    "order:keywords": Constraint(keyword_order, {"keywords": kinds.texts}),
    "order:sorted_items": Constraint(sorted_items, optional={"descending": kinds.flag}),
    "items:count": Constraint(number_items, {"relation": kinds.relation, "num_items": kinds.count}),
    "json:schema": Constraint(json_schema, {"schema": kinds.schema}),
    "length:words": Constraint(length_words, **_limits("words")),
    "length:sentences": Constraint(length_sentences, **_limits("sentences")),
    "length:characters": Constraint(length_characters, **_limits("characters")),
    "pattern:present": Constraint(pattern_present, {"pattern": kinds.pattern}),
    "pattern:absent": Constraint(pattern_absent, {"pattern": kinds.pattern}),
    "content:substance": Constraint(
        has_substance, optional={"min_words": kinds.count, "max_repetition": kinds.percentage}
    ),
}
"""Id -> constraint."""
