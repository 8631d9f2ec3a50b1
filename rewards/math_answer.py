"""Final-answer verification of mathematics: the last box (or answer phrase) against the reference.

Cheap exact comparison comes first; math-verify decides what is left. It may hang on hostile input,
so call it only where the process can be killed (rewards.service does).
"""

import logging
import re
from fractions import Fraction
from typing import Any

from rewards.types import Outcome, error

SELF_TEST = [
    (r"so the answer is \boxed{12}", "12", True),
    (r"so the answer is \boxed{\frac{1}{2}}", "0.5", True),
    (r"first \boxed{3}, but no: \boxed{x^2+2x}", "x(x+2)", True),
    (r"so the answer is \boxed{13}", "12", False),
    (r"the answer must be 12 or so", "12", False),
    ("", "12", False),
]
"""(response, reference, expected verdict)."""

_MAX_ANSWER_CHARS = 2000
_MAX_NESTING = 60
_BOX = re.compile(r"\\f?boxed\s*\{|\\fbox\s*\{")
_PHRASE = re.compile(r"(?:final answer|answer)[*_]*\s*(?:is|:)\s*([^\n]+)", re.IGNORECASE)
_NOISE = re.compile(r"\\(?:left|right|displaystyle|,|!|;|:)|\\?\$|\\\(|\\\)|\\\[|\\\]")
_SPACE = re.compile(r"\s+")
_DIGITS_APART = re.compile(r"\d\s+\d")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_FRACTION = re.compile(r"([+-]?)\\[dt]?frac\{([+-]?\d+)\}\{(\d+)\}|([+-]?\d+)/(\d+)")


def grade(response: str, reference: Any, **_: Any) -> Outcome:
    """Return whether the response's final answer equals the reference.

    Only text after the last `</think>` counts. No answer is wrong; a reference that can't be
    understood is an error, never a wrong answer.
    """
    gold = normalise(str(reference))
    if not gold:
        return error("bad_reference", reference=str(reference))
    answer = extract(response)
    if answer is None:
        return Outcome(status="ok", reason="no_answer")
    detail = {"extracted": answer[:_MAX_ANSWER_CHARS]}
    text = normalise(answer)
    if text == gold:
        return _verdict(True, "identical", detail)
    if len(text) > _MAX_ANSWER_CHARS or _nesting(text) > _MAX_NESTING:
        return _verdict(False, "too_big", detail)
    ours, theirs = exact_number(text), exact_number(gold)
    if ours is not None and theirs is not None:
        return _verdict(ours == theirs, "exact", detail)
    return _by_math_verify(gold, text, detail)


def _verdict(is_right: bool, reason: str, detail: dict[str, Any]) -> Outcome:
    return Outcome(
        status="ok", correct=is_right, value=float(is_right), reason=reason, detail=detail
    )


def extract(response: str) -> str | None:
    """Return the content of the last whole box, else what follows the last answer phrase.

    None if there is neither, or if thinking began and never ended.
    """
    _, closed, tail = response.rpartition("</think>")
    if not closed and "<think>" in response:
        return None
    box = _last_box(tail)
    if box is not None:
        return box
    phrases = _PHRASE.findall(tail[-_MAX_ANSWER_CHARS:])
    return phrases[-1].strip(" *_.") if phrases else None


def _last_box(text: str) -> str | None:
    """Scan the braces once, from the first box on; an unclosed or empty box does not count."""
    last = None
    end = 0
    for match in _BOX.finditer(text):
        if match.start() < end:
            continue
        closing = _closing_brace(text, match.end())
        if closing is None:
            break
        content = text[match.end() : closing].strip()
        end = closing
        last = content or last
    return last


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for match in re.compile(r"\\?[{}]").finditer(text, start):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return None


def normalise(text: str) -> str:
    """Drop what never changes a value: spaces, dollar signs, sizing commands, a final dot."""
    text = text.replace("\0", "").replace("\u2212", "-").replace("dfrac", "frac")
    text = _NOISE.sub("", text.replace("tfrac", "frac")).strip().rstrip(".")
    # Numbers side by side ("1 1/2") are not one number.
    text = _SPACE.sub(" " if _DIGITS_APART.search(text) else "", text)
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def exact_number(text: str) -> Fraction | None:
    """Return the value of an integer, decimal or plain fraction; None for anything else."""
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    sign, top, bottom, plain_top, plain_bottom = match.groups()
    numerator, denominator = int(top or plain_top), int(bottom or plain_bottom)
    if denominator == 0:
        return None
    value = Fraction(numerator, denominator)
    return -value if sign == "-" else value


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest


def warm_up() -> None:
    """Import math-verify (about a second) before the first deadline starts."""
    import math_verify  # noqa: F401

    # It warns at every call that its own time limit is off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)


def _by_math_verify(gold: str, answer: str, detail: dict[str, Any]) -> Outcome:
    from math_verify import parse, verify

    # The process is the time limit: math-verify's own is a signal, which only a main thread can
    # take.
    parsed_gold = parse(f"${gold}$", parsing_timeout=None)
    if not parsed_gold:
        return error("bad_reference", reference=gold[:_MAX_ANSWER_CHARS])
    parsed = parse(f"${answer}$", parsing_timeout=None)
    if not parsed:
        return _verdict(False, "unparsed", detail)
    is_right = bool(verify(parsed_gold, parsed, timeout_seconds=None))
    return _verdict(is_right, "math_verify", detail)
