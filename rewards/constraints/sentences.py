"""Splits a text into sentences: by our rules, or as the official code's splitter would.

The official code uses NLTK's Punkt (Kiss and Strunk, 2006) with a model trained on newspapers.
`official_sentences` follows that procedure with a list of abbreviations in place of the model.
"""

from collections.abc import Iterator
from itertools import pairwise

import regex

from rewards.constraints.abbreviations import (
    AT_ENDS,
    BEFORE_NAMES,
    BEFORE_NUMBERS,
    PUNKT_LIKE,
    STARTERS,
)
from rewards.constraints.text import has_words, straight

_OPENER = r"(?:[\)\";}\]\*:@\'\({\[!\?])"
"""What may follow a mark without a space for it to be looked at."""
_CANDIDATE = regex.compile(rf"[.?!](?=(?P<after>{_OPENER}|\s+(?P<next>\S+)))")
_MULTI = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_PIECE = regex.compile(
    rf"{_MULTI}"
    rf"|(?=[^\(\"\`{{\[:;&\#\*@\)}}\]\-,])\S+?(?=\s|$|{_OPENER}|{_MULTI}|,(?=$|\s|{_OPENER}|{_MULTI}))"
    r"|\S"
)
_CLOSER = regex.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)")
_NUMBER = regex.compile(r"-?[.,]?\d[\d,.-]*\.?")
_ELLIPSIS = regex.compile(r"\.\.+")
_INITIAL = regex.compile(r"[^\W\d]\.")

_END = regex.compile(
    r"(?<![.?!\u2026])(?P<mark>[.?!\u2026]++)(?P<close>[\"')\]}*_\u00bb]*+)"
    r"(?=(?P<gap>\s+)(?P<next>\S{1,40}))"
    r"|(?P<wide>[\u3002\uff01\uff1f\uff0e]+[\"'\u300d\u300f\u201d\uff09)]*)"
    r"|(?P<other>[\u0964\u0965\u061f\u06d4\u1362\u104b]+[\"')]*)"
)
"""Where a sentence may end: marks before a space, or a mark of another script."""
_LAST_WORD = regex.compile(r"[\w.&'-]*$")
_LIST_MARK = regex.compile(r"[\s*_#>-]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})")
_LOOK_BACK = 200
"""Characters before a mark that can matter: keeps long texts linear."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, stripped; those without a letter or digit are left out."""
    text = straight(text)
    parts: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if end["mark"] is None or _ends_sentence(text, start, end):
            parts.append(text[start : end.end()])
            start = end.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if has_words(part)]


def _ends_sentence(text: str, start: int, end: regex.Match[str]) -> bool:
    mark, following = end["mark"], end["next"].lstrip("\"'([{*_")
    if mark != ".":
        # "Really?" he asked ... and so on: a small letter goes on with the sentence.
        is_aside = end["close"] or mark.startswith(("..", "\u2026"))
        return not (following[:1].islower() and is_aside)
    before = text[max(start, end.start() - _LOOK_BACK) : end.start()]
    if "\n" not in end["gap"] and _LIST_MARK.fullmatch(before.rpartition("\n")[2]):
        return False
    word = _last_word(before)
    if word in BEFORE_NAMES or (word in BEFORE_NUMBERS and following[:1].isdigit()):
        return False
    if word in AT_ENDS or _is_initials(word, before):
        return "\n\n" in end["gap"] or _first_word(following) in STARTERS
    return True


def _last_word(before: str) -> str:
    found = _LAST_WORD.search(before)
    return found.group().lstrip("'-&").casefold() if found else ""


def _is_initials(word: str, before: str) -> bool:
    """Whether a dot follows one capital letter or several with dots: J. or J.R.R."""
    is_dotted = "." in word and all(len(part) <= 1 for part in word.split("."))
    is_capital = len(word) == 1 and before[-1:].isupper() and word != "i"
    return is_dotted or is_capital


def _first_word(following: str) -> str:
    word = regex.match(r"\w+", following)
    return word.group().casefold() if word and following[:1].isupper() else ""


def official_sentences(text: str) -> list[str]:
    """Return the sentences as the official splitter cuts them."""
    parts: list[str] = []
    moved = 0
    cuts = list(_official_cuts(text))
    for index, (start, stop) in enumerate(cuts):
        start += moved
        moved = 0
        if index + 1 < len(cuts):
            following = cuts[index + 1]
            closer = _CLOSER.match(text, following[0], following[1])
            if closer:
                stop = following[0] + len(closer.group().rstrip())
                moved = closer.end() - closer.start()
        if text[start:stop]:
            parts.append(text[start:stop])
    return parts


def _official_cuts(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _last_candidates(text):
        before = _before(text, end.start())
        if _is_break(before + end.group() + end["after"]):
            yield start, end.end()
            start = end.start("next") if end["next"] else end.end()
    yield start, max(start, len(text.rstrip()))


def _last_candidates(text: str) -> list[regex.Match[str]]:
    """Return the last mark of each run of text without a space."""
    kept: list[regex.Match[str]] = []
    limit = len(text) + 1
    for end in reversed(list(_CANDIDATE.finditer(text))):
        if end.end() > limit:
            continue
        limit = end.start() - len(_before_with_gap(text, end.start()))
        kept.append(end)
    return kept[::-1]


def _before_with_gap(text: str, position: int) -> str:
    """Return the word before a position with the white space that stands between."""
    stop = position
    while stop and text[stop - 1].isspace():
        stop -= 1
    start = stop
    while start and not text[start - 1].isspace():
        start -= 1
    return text[start:position]


def _before(text: str, position: int) -> str:
    return _before_with_gap(text, position).rstrip()


def _is_break(context: str) -> bool:
    """Whether a sentence ends inside a word, its mark, and what follows."""
    pieces = _PIECE.findall(context)
    return any(_ends_official(piece, following) for piece, following in pairwise(pieces))


def _ends_official(piece: str, following: str) -> bool:
    if piece in ("?", "!"):
        return True
    if not piece.endswith("."):
        return False
    is_ellipsis = _ELLIPSIS.fullmatch(piece) is not None
    kind = piece[:-1].lower()
    is_abbreviation = kind in PUNKT_LIKE or kind.rpartition("-")[2] in PUNKT_LIKE
    is_break = piece == "." or not (is_ellipsis or piece.endswith("..") or is_abbreviation)
    is_initial = _INITIAL.fullmatch(piece) is not None
    begins = _begins_sentence(following)
    if not is_break and not is_initial and begins:
        is_break = True
    if is_initial and (begins is False or (begins is None and following[:1].isupper())):
        return False
    if _NUMBER.fullmatch(piece) and begins is False:
        return False
    return is_break


def _begins_sentence(piece: str) -> bool | None:
    """Whether a word begins a sentence by its case; None where that is not known."""
    if piece in (";", ":", ",", ".", "!", "?"):
        return False
    if piece[:1].isupper() and piece.rstrip(".").lower() in STARTERS:
        return True
    if piece[:1].islower():
        return False
    return None
