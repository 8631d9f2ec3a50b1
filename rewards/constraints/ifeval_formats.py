"""IFEval's `detectable_content:` and `detectable_format:` instructions, by what they mean.

A mark counts where it marks something: an empty section, highlight or bullet is none, nor is one
that is only spoken of.
"""

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.text import has_words, is_quoted, straight, strict_json

_ANSWER = regex.compile(r"My answer is (yes|no|maybe)\.")
_SENTENCE_START = regex.compile(r"(?P<clause>[^.!?]*)(?P<mark>[.!?:\u2026])[*_)]*\s+[*_]*$")
_MAX_CLAUSE_CHARS = 300
_LOOK_BACK = 2000
"""Characters of a line before an answer in which quotes are counted."""
_LINE_END = regex.compile(r"[^\w\n]*(?:\n|$)")
_DENIAL = regex.compile(r"\b(?:not|never|no|cannot|neither|wrong|false)\b|n't\b", regex.IGNORECASE)
_BULLET = regex.compile(
    r"^[^\S\n]*[*+-][^\S\n]+(?![*-][^\S\n]+[*-])(?P<item>\S.*)", regex.MULTILINE
)
_HIGHLIGHT = regex.compile(
    r"(?<![\w*\\])(\*{1,3})(?![\s*])(?P<passage>[^*\n]*)(?<![\s\\*])\1(?![\w*])"
)
_PLACEHOLDERS = regex.compile(r"(?<![A-Za-z0-9)\]]|[A-Za-z0-9]_)(?:\[[^\[\]\n]+\](?!\())+")
"""`[name]`, `[first][last]`; behind a word or bracket it is an index: `row[i][j]`, `f(x)[i]`."""
_NAME = regex.compile(r"\[(?![\"'^])([^\[\]]+)\]")
_CHECKBOX = regex.compile(r"^[^\S\n]*[*+-][^\S\n]+\[[xX]\]", regex.MULTILINE)
_TITLE = regex.compile(r"<<(?P<title>[^<>\n]+)>>")
_MENTION = regex.compile(r"[*_]*(?:[,;']|[^\S\n]+[*_]*\p{Ll})")
"""What follows the number of a section that is spoken of: `Section 2 says`, `Section 2's`."""


def number_placeholders(text: str, *, num_placeholders: int) -> bool:
    """At least so many names in square brackets; links, notes, boxes, code indices are none."""
    runs = _PLACEHOLDERS.findall(straight(_CHECKBOX.sub("", text)))
    names = [name for run in runs for name in _NAME.findall(run)]
    return sum(any(map(str.isalpha, name)) for name in names) >= num_placeholders


def postscript(text: str, *, postscript_marker: str) -> bool:
    """After the text, a line or sentence begins with the marker, and something follows it."""
    letters = [regex.escape(part) for part in straight(postscript_marker).split(".") if part]
    marker = r"\.\s?".join(part.strip() for part in letters)
    marker += r"\." if postscript_marker.endswith(".") else r"(?:\.|(?!\w))"
    start = r"(?:^[^\w\n]*|(?<=[.!?\"')*\u2026])\s+[\"'(*_]*)"
    pattern = regex.compile(start + marker, regex.IGNORECASE | regex.MULTILINE)
    plain = straight(text)
    return any(
        has_words(plain[: found.start()]) and has_words(plain[found.end() :])
        for found in pattern.finditer(plain)
    )


def number_bullet_lists(text: str, *, num_bullets: int) -> bool:
    """Exactly so many markdown bullets with words; bold text and rules are none."""
    return sum(has_words(found["item"]) for found in _BULLET.finditer(text)) == num_bullets


def constrained_response(text: str) -> bool:
    """The text states one of the three fixed answers, and no other of them is there."""
    plain = straight(text).strip()
    if is_quoted(plain):
        plain = plain[1:-1]
    found = list(_ANSWER.finditer(plain))
    is_one = len({answer[1] for answer in found}) == 1
    return is_one and any(_is_stated(plain, answer.start(), answer.end()) for answer in found)


def _is_stated(text: str, start: int, end: int) -> bool:
    """Whether a sentence or line begins there, and what it says is neither quoted nor denied."""
    line_start = text.rfind("\n", 0, start) + 1
    before = text[max(line_start, start - _LOOK_BACK) : start]
    if not has_words(before):
        return '"' not in before or _LINE_END.match(text, end) is not None
    sentence = _SENTENCE_START.search(before[-_MAX_CLAUSE_CHARS:])
    if sentence is None or before.count('"') % 2:
        return False
    return sentence["mark"] != ":" or _DENIAL.search(sentence["clause"]) is None


def number_highlighted_sections(text: str, *, num_highlights: int) -> bool:
    """At least so many passages with words between asterisks; bullets and products are none."""
    found = sum(has_words(found["passage"]) for found in _HIGHLIGHT.finditer(text))
    return found >= num_highlights


def multiple_sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    """At least so many sections with words begin with the marker and a number of their own.

    A marker stands at the start of a line or sentence; "as Section 2 says" only speaks of one.
    """
    marker = regex.escape(section_spliter)
    start = r"(?:^[^\w\n]*|(?<=[.!?\u2026\]\"'*_)])\s+[^\w\s]*)"
    pattern = regex.compile(rf"{start}{marker}\s?(?P<number>\d{{1,9}})(?!\w)", regex.MULTILINE)
    has_capitals = any(map(str.isupper, pattern.sub("", text)))
    heads = [
        found
        for found in pattern.finditer(text)
        if not (has_capitals and _MENTION.match(text, found.end()))
    ]
    stops = [*(head.start() for head in heads[1:]), len(text)]
    filled = {
        int(head["number"])
        for head, stop in zip(heads, stops, strict=False)
        if has_words(text[head.end() : stop])
    }
    return len(filled) >= num_sections


def json_format(text: str) -> bool:
    """The whole text is one JSON object or array, bare or in one fence."""
    try:
        return isinstance(strict_json(text), dict | list)
    except ValueError:
        return False


def title(text: str) -> bool:
    """A title with something in it stands in double angle brackets."""
    return any(has_words(found["title"]) for found in _TITLE.finditer(text))


CONSTRAINTS = {
    "detectable_content:number_placeholders": Constraint(
        number_placeholders, {"num_placeholders": kinds.count}
    ),
    "detectable_content:postscript": Constraint(postscript, {"postscript_marker": kinds.text}),
    "detectable_format:number_bullet_lists": Constraint(
        number_bullet_lists, {"num_bullets": kinds.count}
    ),
    "detectable_format:constrained_response": Constraint(constrained_response),
    "detectable_format:number_highlighted_sections": Constraint(
        number_highlighted_sections, {"num_highlights": kinds.count}
    ),
    "detectable_format:multiple_sections": Constraint(
        multiple_sections, {"section_spliter": kinds.text, "num_sections": kinds.count}
    ),
    "detectable_format:json_format": Constraint(json_format),
    "detectable_format:title": Constraint(title),
}
"""Id -> constraint."""
