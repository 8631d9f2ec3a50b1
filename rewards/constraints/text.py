"""How checks see a text: words, lines, paragraphs, keywords."""

import json
import string
import unicodedata
from typing import Any

import regex

PATTERN_TIMEOUT_S = 2.0
"""Longest that one pattern out of a row may work on one response."""

PUNCTUATION = string.punctuation + " "
"""What the official code strips from words: ASCII punctuation and the space."""

_TOKEN = regex.compile(r"\w+")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['\-\u2010\u2011][\p{L}\p{M}\p{N}]+)*")
_BLANK_LINES = regex.compile(r"\n[^\S\n]*\n\s*")
_FENCE = regex.compile(r"```(?:[\w+-]*[^\S\n]*\n|json(?=\W))", regex.IGNORECASE)
_SPACE = regex.compile(r"\s+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Scripts that write no space between words: a keyword in them has no word boundary."""
_STRAIGHT = str.maketrans(
    {**dict.fromkeys("\u2019\u2018\u02bc", "'"), **dict.fromkeys("\u201c\u201d\u201e", '"')}
)
_NOT_BEFORE = r"(?<![^\W_])(?<![^\W_]_)"
_NOT_AFTER = r"(?![^\W_])(?!_[^\W_])"
"""A word's edge. An underscore is part of a word only between letters: `_word_` is emphasis."""
_INSIDE = regex.compile(r"[^\W_](?:[^\W_]|['_-][^\W_])")
_QUOTE = regex.compile(
    r'(?<=[\s(\[{=\u2014\u2013/-]|^"|\s")(?P<opens>")(?=\S)|(?<=[^\s\\])(?P<closes>")(?!\w)|"'
)
"""A double quote that opens (behind a space or bracket), closes (before no letter), or neither."""
_MAX_INTEGER_DIGITS = 4000


def straight(text: str) -> str:
    """Return the text with typographic quotes and apostrophes made straight."""
    return text.translate(_STRAIGHT)


def tokens(text: str) -> list[str]:
    r"""Return the runs of `\w`: the words that word counts count."""
    return _TOKEN.findall(text)  # type: ignore[no-any-return]


def words(text: str) -> list[str]:
    """Return the words as people see them: `don't` and `well-known` are one, punctuation none."""
    return _WORD.findall(straight(text))  # type: ignore[no-any-return]


def lower_words(text: str) -> list[str]:
    """Return the words with case folded."""
    return [word.casefold() for word in words(text)]


def plain_letters(text: str) -> str:
    """Return the text case-folded and without accents: `\u00c9` becomes `e`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def has_words(text: str) -> bool:
    """Whether a letter or digit is there at all."""
    return any(character.isalnum() for character in text)


def lines(text: str) -> list[str]:
    """Return the lines that are not blank, as they are."""
    return [line for line in text.splitlines() if line.strip()]


def paragraphs(text: str) -> list[str]:
    """Return what blank lines separate, stripped, without what has no words, such as a rule."""
    return [part.strip() for part in _BLANK_LINES.split(text) if has_words(part)]


def count_parts(parts: list[str]) -> int:
    """Count what dividers separate; 0 where a part between two of them has no words."""
    is_filled = [has_words(part) for part in parts]
    return is_filled.count(True) if all(is_filled[1:-1]) else 0


def squeezed(text: str) -> str:
    """Return the text with case folded and each run of white space made one space."""
    spaced: str = _SPACE.sub(" ", straight(text))
    return spaced.strip().casefold()


def goes_on(phrase: str, rest: str) -> bool:
    """Whether a phrase stops inside a word, which the rest goes on with."""
    is_inside = _INSIDE.match(phrase[-1] + rest[:2]) is not None
    return is_inside and _UNSPACED.match(phrase[-1]) is None


def is_quoted(text: str) -> bool:
    """Whether double quotes hold the whole text, made `straight` and stripped.

    Others may open and close inside. Paragraphs may each have their own: then nothing but line
    breaks and dividers stands between them.
    """
    if len(text) < 3 or not text[0] == text[-1] == '"':
        return False
    depth, closed_at = 1, 0
    for mark in _QUOTE.finditer(text, 1, len(text) - 1):
        if depth == 0:
            gap = text[closed_at : mark.start()]
            if has_words(gap) or "\n" not in gap:
                return False
            depth = 1
        elif mark["opens"]:
            depth += 1
        elif mark["closes"]:
            depth, closed_at = depth - 1, mark.end()
    return depth > 0


def bare(text: str) -> str:
    """Return the text without the punctuation, symbols and spaces at its ends."""
    kept = [index for index, character in enumerate(text) if _is_kept(character)]
    return text[kept[0] : kept[-1] + 1] if kept else ""


def _is_kept(character: str) -> bool:
    return unicodedata.category(character)[0] not in "PSZC"


def keyword_pattern(keyword: str) -> regex.Pattern[str]:
    """Return a pattern that finds a keyword literally, as whole words, in any case.

    To be used on text made `straight`.
    """
    parts = [regex.escape(part) for part in straight(keyword).split()]
    before = "" if _UNSPACED.match(keyword[0]) else _NOT_BEFORE
    after = "" if _UNSPACED.match(keyword[-1]) else _NOT_AFTER
    return regex.compile(before + r"\s+".join(parts) + after, regex.IGNORECASE)


def count_keyword(text: str, keyword: str) -> int:
    """Count where a keyword stands as whole words, in any case."""
    return sum(1 for _ in keyword_pattern(keyword).finditer(straight(text)))


def search(pattern: str, text: str, flags: int = 0) -> bool:
    """Whether a pattern out of a row matches somewhere.

    Raises TimeoutError after PATTERN_TIMEOUT_S.
    """
    return regex.search(pattern, text, flags=flags, timeout=PATTERN_TIMEOUT_S) is not None


def unfenced(text: str) -> str:
    """Return what one markdown fence around the whole text holds, else the text, stripped."""
    stripped = text.strip()
    opening = _FENCE.match(stripped)
    if opening and stripped.endswith("```") and len(stripped) >= opening.end() + 3:
        return stripped[opening.end() : -3].strip()
    return stripped


def strict_json(text: str) -> Any:
    """Return the value of a JSON text, bare or in one fence.

    Raises ValueError where it is none; NaN and Infinity are none.
    """
    try:
        return json.loads(unfenced(text), parse_constant=_refuse, parse_int=_integer)
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _integer(digits: str) -> int | float:
    # int() refuses very long numbers, which are JSON all the same.
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else float(digits)


def compare(number: float, relation: str, limit: float) -> bool:
    """Whether a number stands in the relation (kinds.RELATIONS) to the limit."""
    match relation:
        case "less than":
            return number < limit
        case "at least":
            return number >= limit
        case "at most":
            return number <= limit
        case "more than":
            return number > limit
        case _:
            return number == limit
