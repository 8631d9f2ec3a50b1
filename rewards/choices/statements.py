"""Where a response answers: boxes, answer lines and sentences such as "B is correct"."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from rewards.answers import MAX_TAIL_CHARS, NoAnswer, boxed_answer, find_boxes

_MAX_PHRASE_CHARS = 8000
"""Characters at the end of a response in which answer lines are looked for."""
MAX_CONTENT_CHARS = 600
_MAX_OUTER = 100
"""Answer lines in which further sentences are looked for."""

Source = Literal["box", "phrase", "line", "first_line", "sentence"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A place that answers, and what it says."""

    begin: int
    end: int
    contents: tuple[str, ...]
    """One text; several of boxes that a sentence joins."""
    source: Source
    after: str = ""
    """What follows, up to a bound."""
    is_refusing: bool = False
    """ "The answer is not ..." """
    is_line: bool = False
    """An answer line with a colon, which is meant as the last word whatever it says."""
    refusal: str = ""
    """Why boxes offer nothing: `hedged` or `sprayed`."""
    is_letter_only: bool = False
    """Whether only letters and whole option texts may be meant."""


_UNSURE = (
    r"wrong|incorrect|first|second|third|other|another|one|each|every|no|which|previous|initial|"
    r"tempting|possible|plausible|unlikely|false|eliminated|remaining|any|this|that|these|those|"
    r"of|all|both|multiple|student's|initial|naive"
)
_ANSWER = re.compile(
    r"(?P<before>[A-Za-z']{1,20}[ \t]+)?\b(?P<noun>answers?|options?|choices?|selection)\b"
    r"(?:\(s\))?[*_]{0,3}"
    r"(?:\s(?:to|of|for|here)(?:\s(?:the|this|these)(?:\s[a-z]{1,12})?\s(?:questions?|problems?|"
    r"exercise|blank))?)?(?:\s(?:letter|option|choice))?[*_ \t\"]{0,6}"
    r"(?:\b(?P<refused>isn't|aren't|is not|are not|can't be|cannot be|can not be|couldn't be|"
    r"could not be|won't be|shouldn't be|should not be|must not be|will not be|is never)\b"
    r"|\b(?P<verb>is|are|was|should be|must be|has to be|have to be|would be|will be|can only be|"
    r"seems to be|seems|appears to be|turns out to be|becomes|equals)\b"
    r"|(?P<colon>[:\uff1a=]|->|\u2192))[*_:\uff1a\s]{0,12}",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    "(?:(?:\u6b63\u786e|\u6700\u7ec8)?(?:\u7b54\u6848|\u9009\u9879)(?:\u5e94\u8be5|\u5e94|\u9009)?"
    "(?:(?P<refused>\u4e0d\u662f)|(?:\u662f|\u4e3a|\u9009|[:\uff1a])+)|(?:(?<=\\n)|^)\u7b54[:\uff1a]"
    "|(?<!\u4e0d)\u9009\u62e9?(?=[*_:\uff1a\\s$(\uff08]{0,6}[A-Z\uff21-\uff3a]))"
    "[*_:\uff1a\\s$]{0,8}"
)
_CHOOSING = re.compile(
    r"\b(?:(?:I|we|I'll|I'd|let's|let us|I will|I would|would|will|therefore|thus)\s"
    r"(?:(?:therefore|thus|would|will)\s)?(?:choose|pick|select|go with|opt for|chose|go for|mark|"
    r"answer)\s(?=[*($\[]{0,4}(?:option|choice|answer|the|[A-Z]))"
    r"|(?:match(?:es)?|corresponds? to|which is|i\.e\.,?|namely)\s(?=[*]{0,2}(?:option|choice)\s))",
    re.IGNORECASE,
)
_CORRECT = re.compile(
    r"(?P<content>(?:\b(?:option|choice|answer)\s)?[*($\[\"]{0,4}"
    r"(?<![\w^=+*/-])[A-Z][*)$\]\"]{0,4})\s(?:is|must be|'s)\s"
    r"(?:(?:therefore|thus|indeed|clearly|definitely|also)\s)?(?:the\s)?(?:only\s)?"
    r"(?:correct|right|best|true|valid)\b(?:\s(?:answer|option|choice|one))?"
    r"|(?P<chinese>(?:\u9009\u9879|(?<=\u6240\u4ee5)|(?<=\u6545))[*(\uff08]{0,3}[A-Z][*)\uff09]{0,3}"
    r"(?:\u9879)?(?:\u662f)?\u6b63\u786e)"
)
_OPENS_CLAUSE = re.compile(
    r"(?:^|[.,;:!?\n*(\uff0c\uff1b\u3000-\u9fff]|\b(?:that|so|therefore|thus|hence|only|then|believe|think|and|but|"
    r"conclude|say|means|because|confirms|option|choice|answer))\s*$",
    re.IGNORECASE,
)
"""`Group A is correct` says nothing of an option."""
_LONE = re.compile(
    r"^[ \t*_#>-]*(?:(?:so|thus|hence|therefore|final|my|the|correct)[,\s]\s?){0,4}"
    r"(?:answer|option|choice)[ \t]+(?P<content>[*($\[]{0,4}[A-Z][*)$\].]{0,5})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_IF = re.compile(
    r"\b(?:if|suppose|whether|assume|assuming|unless|why|imagine|had|were|say that|claim that|"
    r"don't think|do not think|doubt)\b[^.,;:\n]{0,40}$",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|isn't|cannot be|can't be)\b[\s:*$({\[]*$", re.IGNORECASE)
_RIGHT = re.compile(r"correct|right|best|valid|proper|final|appropriate")
_NAMED = re.compile(_RIGHT.pattern + "|only|my|the|our|answer")
_DOUBTFUL = re.compile(
    r"\b(?:not|never|cannot|neither|nor|could|might|may|maybe|perhaps|possibly|wrong|incorrect|if|"
    r"unless|whether|unlikely|doubt|\w{1,8}n't)\b|\?\s*$|\u4e0d",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\bbut(?: rather)?\s+|\u800c\u662f\s*")
_NOT_BUT = re.compile(r"\bnot\s[^.;]{1,80}?,?\sbut\s(?:rather\s)?(?P<content>.{1,200})$")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?\u3002])(?<!\b[A-Z]\.)\s+(?=\S)")
_LAST_VERB = re.compile(
    r"(?:(?<=[Ii]t)'s|\b(?:is|are|was|were|equals|called|as|named|gives|yields|be|becomes|get|obtain|find))\s+(?=\S)|[:\uff1a]\s"
)


def find_statements(text: str) -> list[Statement]:
    """Return what answers in a text, in order. Bounded work whatever the text."""
    start = max(0, len(text) - _MAX_PHRASE_CHARS)
    tail = text[start:]
    answers = _answers(tail)
    spans = [(each.begin, each.end) for each in answers[-_MAX_OUTER:]]
    found = answers + [
        each
        for each in _choices(tail)
        if not any(begin <= each.begin < end for begin, end in spans)
    ]
    placed = [replace(each, begin=each.begin + start, end=each.end + start) for each in found]
    box = _box(text)
    if box is not None:
        placed = [each for each in placed if not each.begin <= box.begin < each.end]
        placed.append(box)
    return sorted(placed, key=lambda each: each.begin)


def last_sentence(text: str) -> Statement | None:
    """Return what the last sentence ends in: `The acid is H2SO4.`, `c = 3e8 m/s`."""
    line = text[-_MAX_PHRASE_CHARS:].rstrip().rpartition("\n")[2]
    if len(line) > MAX_CONTENT_CHARS or not line.strip():
        return None
    sentence = _BETWEEN_SENTENCES.split(line.strip())[-1]
    contrast = _NOT_BUT.search(sentence)
    if contrast and not _DOUBTFUL.search(contrast["content"]):
        return Statement(0, len(text), (contrast["content"],), "sentence")
    if _DOUBTFUL.search(sentence):
        return None
    verbs = list(_LAST_VERB.finditer(sentence))
    content = sentence[verbs[-1].end() :] if verbs else sentence
    return Statement(0, len(text), (content,), "sentence")


def _answers(text: str) -> list[Statement]:
    found = []
    for pattern in (_ANSWER, _CHINESE):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            if pattern is _ANSWER and not _is_answering(text, match):
                continue
            content, end = _content(text, match.end())
            if not content:
                continue
            is_refused = groups["refused"] is not None
            instead = _INSTEAD.search(content) if is_refused else None
            found.append(
                Statement(
                    match.start(),
                    end,
                    (content[instead.end() :] if instead else content,),
                    "phrase",
                    text[end : end + MAX_CONTENT_CHARS],
                    is_refusing=is_refused and instead is None,
                    is_line=pattern is _CHINESE or groups["colon"] is not None,
                )
            )
    return found


def _is_answering(text: str, match: "re.Match[str]") -> bool:
    before = (match["before"] or "").strip().lower()
    if before and re.fullmatch(_UNSURE, before):
        return False
    noun = match["noun"].lower()
    if noun in ("options", "choices") and not _RIGHT.fullmatch(before):
        return False
    if match["colon"] is None and noun[0] in "oc" and not _NAMED.fullmatch(before):
        return False
    return not _IF.search(text[max(0, match.start() - 60) : match.start()] + before + " ")


def _choices(text: str) -> list[Statement]:
    found = []
    for match in _CHOOSING.finditer(text):
        content, end = _content(text, match.end())
        if content and not _IF.search(text[max(0, match.start() - 60) : match.start()]):
            after = text[end : end + MAX_CONTENT_CHARS]
            found.append(
                Statement(match.start(), end, (content,), "phrase", after, is_letter_only=True)
            )
    for pattern in (_CORRECT, _LONE):
        for match in pattern.finditer(text):
            if _IF.search(text[max(0, match.start() - 60) : match.start()]):
                continue
            before = text[max(0, match.start() - 20) : match.start()]
            if pattern is _CORRECT and not _OPENS_CLAUSE.search(before):
                continue
            content = match["content"] or match.groupdict().get("chinese") or ""
            content = (
                content.rpartition("\u9009\u9879")[2]
                .partition("\u6b63\u786e")[0]
                .rstrip("\u662f\u9879")
            )
            after = text[match.end() : match.end() + MAX_CONTENT_CHARS]
            found.append(
                Statement(
                    match.start(),
                    match.end(),
                    (content,),
                    "phrase",
                    after,
                    is_letter_only=True,
                )
            )
    return found


def _content(text: str, start: int) -> tuple[str, int]:
    """Return the rest of a line, or the display that begins there, and where it ends."""
    window = text[start : start + MAX_CONTENT_CHARS]
    for opening, closing in (("\\[", "\\]"), ("$$", "$$")):
        if window.startswith(opening):
            end = window.find(closing, 2)
            if end > 0:
                return window[2:end].strip(), start + end + 2
    line = window.partition("\n")[0]
    return line.strip(), start + len(line)


def _box(text: str) -> Statement | None:
    offset = max(0, len(text) - MAX_TAIL_CHARS)
    tail = text[offset:]
    answer = boxed_answer(tail)
    if answer is None:
        return None
    last = find_boxes(tail)[-1]
    after = tail[last.end : last.end + MAX_CONTENT_CHARS]
    begin, end = offset + last.begin, offset + last.end
    if isinstance(answer, NoAnswer):
        return Statement(begin, end, ("",), "box", refusal=answer.reason)
    line = tail[max(0, last.begin - 60) : last.begin].rpartition("\n")[2]
    is_refusing = _NOT.search(line) is not None
    return Statement(begin, end, answer.parts, "box", after, is_refusing=is_refusing)
