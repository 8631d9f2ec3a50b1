r"""The final answer of a response: its last box, answer phrase or lone last line.

Every function is linear in the response, raises nothing whatever the text, and needs the standard
library only. Nothing here knows mathematics: other graders read their answers with it too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MAX_TAIL_CHARS = 100_000
"""Characters at the end of a response in which its boxes are looked for."""
_MAX_PHRASE_CHARS = 4000
"""Characters at the end in which a phrase, a last line or a last number is looked for."""
_MAX_LINE_CHARS = 300
_MAX_GAP_CHARS = 60
_MAX_RUN = 64
"""Most boxes that are looked at together."""

Source = Literal["box", "phrase", "line", "number"]


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """What a response gives as its answer."""

    parts: tuple[str, ...]
    """One text, or those of several boxes that a sentence joins by "and" or commas."""
    source: Source
    spellings: tuple[str, ...] = ()
    """Boxes before it that the sentence gives as the same: "1/2, or equivalently 0.5"."""

    @property
    def text(self) -> str:
        """All parts as one list."""
        return ", ".join(self.parts)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why a response gives none that could be right."""

    reason: Literal["no_answer", "unfinished_thinking", "no_box", "hedged", "sprayed", "retracted"]
    detail: str = ""
    """The candidates, where there were too many."""


@dataclass(frozen=True, slots=True)
class Box:
    r"""A whole `\boxed{...}`: `text[begin:end]`."""

    begin: int
    end: int
    content: str


_BOX_TOKEN = re.compile(
    r"\\(?:f?boxed|fbox)\s{0,8}(?:(?P<open>\{)|(?P<bare>[+-]?\d+(?:[.,/]\d+)*))"
    r"|\\\\(?!f?boxed|fbox)|\\[{}]|[{}]"
)
"""A box's start, a box around a bare number, an escape that is no brace of ours, or a brace."""
_PLACEHOLDER = re.compile(
    r"[\s.?_\u2026]*|(?:\\text\s*\{)?\s*(?:(?:your|the|final)\s+)*answer\s*(?:here)?\s*\}?"
    r"|\\(?:ldots|cdots|dots|cdot|quad|square|placeholder)",
    re.IGNORECASE,
)
_GAP_NOISE = re.compile(
    r"\\(?:quad|qquad|text|mbox|textrm|mathrm)(?![a-zA-Z])|\\[()\[\],;:!]|[$\s{}*_~\\]+"
)
_GAP_AND = re.compile("[,;&\uff0c\u3001]?(?:and|[,;&\uff0c\u3001\u548c\u4e0e\u53ca]|\u4ee5\u53ca)?")
_GAP_SLASH = re.compile("/")
_GAP_SAME = re.compile(
    r"\b(?:equivalent(?:ly)?|equal|equals|i\.e|that is|which is|simplif\w*|in other words"
    r"|the same)\b"
    "|\u5373|\u4e5f\u5c31\u662f",
    re.IGNORECASE,
)
"""Between two boxes: the same value, otherwise written."""
_GAP_OR = re.compile(
    r"(?<![a-zA-Z])(?:or|alternatively|otherwise|else|perhaps|maybe|possibly|versus|vs)(?![a-zA-Z])"
    "|\u6216|\u8981\u4e48",
    re.IGNORECASE,
)
_NEXT_CANDIDATE = re.compile(
    r"(?<![a-zA-Z])(?:option|possibility|candidate|alternative|guess|choice)[\s*_]*"
    r"(?:no\.\s*|#\s*)?[\dA-Z]{0,2}[\s*_:).$\\(]*$"
    r"|(?:^|[.?!\n])\s*(?:or|alternatively)(?![a-zA-Z])[^.\n]*$",
    re.IGNORECASE,
)
"""Before a box, that it is one of several, whether or not a sentence ended before."""
_RETRACTED = re.compile(
    # Directly behind: "is not the answer", "is wrong", "or maybe 5".
    r"\A[\s$*_.,;)\]\\]*(?:(?:is|was)\s+(?:not|wrong|incorrect)\b|(?:isn't|wasn't)\b"
    r"|or\s+(?:maybe|perhaps|possibly|else|it\s+(?:could|might|may)\s+be)\b"
    r"|\?\s*no\b)"
    # Later: "that is wrong", "it should be 7".
    r"|(?:^|[.!?,;:\n])[\s$*_)\]\\]*(?:(?:no|wait|hmm|but|actually|oops|sorry|however)\b[\s,.!]*){0,3}"
    r"(?:that|this|it|(?:the|my)\s+(?:final\s+)?answer)\s+(?:above\s+)?(?:(?:is|was)\s+)?"
    r"(?:(?:actually|still)\s+)?(?:wrong|incorrect|a\s+mistake|not\s+(?:right|correct|the\s+answer)"
    r"|should\s+(?:actually\s+|instead\s+|really\s+)?(?:be|have\s+been)\s+[$*\\(]*[-+\\]?\d)"
    r"|(?:that|it|this)'s\s+(?:wrong|incorrect|a\s+mistake|not\s+(?:right|correct))\b",
    re.IGNORECASE,
)
"""What takes an answer back, in the text behind it."""
_MAX_RETRACTION_CHARS = 300
_PHRASE = re.compile(
    r"\banswers?(?:\s+(?:to|of|for)\s+(?:the|this)\s+(?:question|problem|exercise))?[*_\s]{0,6}"
    r"(?:(?:is|are)\b(?:\s+(?:therefore|thus|then|simply|just|exactly|equal to)\b)?|[:\uff1a=])"
    "[*_:\uff1a\\s]{0,8}"
    "|\u7b54\u6848(?:\u5e94\u8be5|\u5e94)?(?:\u662f|\u4e3a|[:\uff1a])[*_:\uff1a\\s]{0,8}"
    "|(?:(?<=\\n)|^)\u7b54[:\uff1a]\\s{0,8}",
    re.IGNORECASE,
)
_DISPLAY = re.compile(r"\\\[(?P<bracket>.*?)\\\]|\$\$(?P<dollars>.*?)\$\$", re.DOTALL)
_SENTENCE_END = re.compile(
    "(?<!\\\\)[.?!](?=\\s|$)|\\.(?=[*_$)\\\\]+(?:\\s|$))|[\u3002\uff01\uff1f]|\\n"
)
_EXPLANATION = re.compile(
    r"[\s,;(]+(?:(?:because|since|which|so|hence|thus|therefore|as)\b(?!\s+many).*"
    r"|when\b(?!.*(?:[,;]|\b(?:and|or|but|when|else|otherwise)\b)).*)",
    re.DOTALL,
)
_ANSWER_PREFIX = re.compile("(?:A|Ans|\u7b54)\\s?[:\uff1a]\\s*|#{1,6}\\s+", re.IGNORECASE)
_BULLET = re.compile(r"[-*+\u2022]\s|\d+[.)]\s")
_COMMAND = re.compile(r"\\text\s?\{[^{}]{0,40}\}|\\[a-zA-Z]+")
_WORD = re.compile(
    r"\b(?:is|it|in|of|to|so|we|by|at|as|an|be|he|if|my|no|on|or|up|us)\b|"
    r"(?!(?:arc)?(?:sqrt|sin|cos|tan|cot|sec|csc|log|exp|pi)(?![a-zA-Z]))[^\W\d_]{3,}"
)
_UNFINISHED = re.compile(r"[-+*/=<>^(,\[{\\]$")
_NUMBER = re.compile(
    r"(?:(?<![\w)\]])[-+\u2212]\s?)?\$?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
    r"(?:\s?/\s?\d+(?:\.\d+)?)?%?"
)


def extract(
    response: str, *, require_box: bool = False, last_number: bool = False
) -> FinalAnswer | NoAnswer:
    """Return the final answer, or why there is none.

    With `require_box` only a box counts. With `last_number` the last number of the text counts
    where there is neither box nor phrase: for evaluation in the way of GSM8K, not for training.
    """
    text = final_part(response)
    if text is None:
        return NoAnswer("unfinished_thinking")
    boxed = boxed_answer(text)
    if boxed is not None:
        return boxed
    if require_box:
        return NoAnswer("no_box")
    phrase = _phrase(text)
    if phrase is not None:
        return phrase
    line = last_line(text)
    if line is not None:
        return FinalAnswer((line,), "line")
    number = last_number_in(text) if last_number else None
    return FinalAnswer((number,), "number") if number is not None else NoAnswer("no_answer")


def final_part(response: str) -> str | None:
    """Return what follows the last `</think>`, all if there is none; None if thinking goes on.

    A `<think>` behind it opens thinking again: what follows never became an answer. Line breaks at
    the start go too: they are no first line.
    """
    _, _, tail = response.rpartition("</think>")
    return None if "<think>" in tail else tail.lstrip("\r\n")


def boxed_answer(text: str) -> FinalAnswer | NoAnswer | None:
    """Return the last box, or the last boxes if one sentence joins them; None without a box.

    Boxes side by side, or joined by "or", are candidates and no answer, unless all say the same.
    """
    text = text[-MAX_TAIL_CHARS:]
    boxes = find_boxes(text)
    if not boxes:
        return None
    run, joints = _last_run(text, boxes)
    contents = tuple(box.content for box in run)
    if _is_retracted(text, run[-1].end):
        return NoAnswer("retracted", contents[-1][:_MAX_LINE_CHARS])
    if len({"".join(content.split()) for content in contents}) == 1:
        return FinalAnswer((contents[-1],), "box")
    if "or" in joints:
        return NoAnswer("hedged", " or ".join(contents)[:_MAX_LINE_CHARS])
    if "row" in joints:
        return NoAnswer("sprayed", " ".join(contents)[:_MAX_LINE_CHARS])
    if joints == {"same"}:
        return FinalAnswer((contents[-1],), "box", contents[:-1])
    return FinalAnswer(contents, "box")


def _is_retracted(text: str, end: int) -> bool:
    """Say whether what follows an answer takes it back."""
    return _RETRACTED.search(text[end : end + _MAX_RETRACTION_CHARS]) is not None


def find_boxes(text: str) -> list[Box]:
    """Return the outermost whole boxes in order, without empty ones and placeholders.

    Braces are matched in one pass. A box that never closes is none, but those inside it count.
    """
    boxes: list[Box] = []
    open_braces: list[tuple[int, int] | None] = []
    for token in _BOX_TOKEN.finditer(text, max(0, text.find("box") - 4)):
        if token["open"]:
            open_braces.append((token.start(), token.end()))
        elif token["bare"]:
            boxes.append(Box(token.start(), token.end(), token["bare"]))
        elif token.group() == "{":
            open_braces.append(None)
        elif token.group() == "}" and open_braces:
            start = open_braces.pop()
            if start is not None:
                _close(boxes, text, start, token.end())
    return boxes


def _close(boxes: list[Box], text: str, start: tuple[int, int], end: int) -> None:
    """Add a box that has just been closed, in place of those inside it."""
    begin, inside = start
    has_inner = bool(boxes) and boxes[-1].begin > begin
    if not has_inner and _PLACEHOLDER.fullmatch(text, inside, end - 1):
        return
    while boxes and boxes[-1].begin > begin:
        boxes.pop()
    boxes.append(Box(begin, end, text[inside : end - 1].strip()))


def _last_run(text: str, boxes: Sequence[Box]) -> tuple[list[Box], set[str]]:
    """Return the last boxes with nothing but connectors between them, and the connectors."""
    run, joints = [boxes[-1]], set()
    for before in reversed(boxes[-_MAX_RUN:-1]):
        joint = _joint(text[before.end : run[0].begin][: _MAX_GAP_CHARS + 1])
        if joint is None:
            break
        joints.add(joint)
        run.insert(0, before)
    return run, joints


def _joint(gap: str) -> str | None:
    """Say how a text between two boxes joins them: "and", "or", "same", "row"; None: not.

    "row" is nothing between them. The end of a sentence parts boxes, unless the next one begins
    with "or".
    """
    if len(gap) > _MAX_GAP_CHARS:
        return None
    core = _GAP_NOISE.sub("", gap)
    if not core:
        return "row"
    if _GAP_AND.fullmatch(core):
        return "and"
    if _NEXT_CANDIDATE.search(gap) or _GAP_SLASH.fullmatch(core):
        return "or"
    if _SENTENCE_END.search(gap):
        return None
    if _GAP_SAME.search(gap):
        return "same"
    return "or" if _GAP_OR.search(gap) else None


def answer_phrase(text: str) -> str | None:
    """Return what the last "answer is", "Answer:" or its Chinese like introduces."""
    found = _phrase(text)
    return found.text if isinstance(found, FinalAnswer) else None


def _phrase(text: str) -> FinalAnswer | NoAnswer | None:
    tail = text[-_MAX_PHRASE_CHARS:]
    end = max((match.end() for match in _PHRASE.finditer(tail)), default=None)
    if end is None:
        return None
    rest = tail[end:]
    display = _DISPLAY.match(rest)
    if display:
        sentence = display["bracket"] or display["dollars"] or ""
        behind = display.end()
    else:
        sentence = _SENTENCE_END.split(rest, maxsplit=1)[0]
        behind = len(sentence)
    answer = _bare(_EXPLANATION.sub("", sentence))
    if not answer:
        return None
    if _is_retracted(rest, behind):
        return NoAnswer("retracted", answer[:_MAX_LINE_CHARS])
    return FinalAnswer((answer,), "phrase")


def last_line(text: str) -> str | None:
    """Return a last line that is a number or formula and nothing else.

    Displayed mathematics at the end counts as one line; `A: 5` and `#### 5` count without prefix.
    """
    tail = text[-_MAX_PHRASE_CHARS:].rstrip()
    for opening, closing in (("\\[", "\\]"), ("$$", "$$")):
        if tail.endswith(closing):
            line = tail[: -len(closing)].rpartition(opening)[2].strip()
            return line if _is_formula(line) else None
    line = tail.rpartition("\n")[2].strip()
    prefix = _ANSWER_PREFIX.match(line)
    line = line[prefix.end() :] if prefix else line
    if _BULLET.match(line):
        return None
    line = _bare(line)
    return line if _is_formula(line) else None


def last_number_in(text: str) -> str | None:
    """Return the last number, with its sign and without a dollar sign."""
    numbers = _NUMBER.findall(text[-_MAX_PHRASE_CHARS:])
    return numbers[-1].replace("$", "").replace(" ", "") if numbers else None


def _bare(text: str) -> str:
    """Strip markdown and the marks that end a sentence."""
    return text.strip(" \t*_`\r\n").rstrip(".?!,; \u3002\uff0c").strip(" *_`")


def _is_formula(line: str) -> bool:
    return (
        0 < len(line) <= _MAX_LINE_CHARS
        and not _WORD.search(_COMMAND.sub(" ", line))
        and any(character.isalnum() for character in line)
        and not _UNFINISHED.search(line)
    )
