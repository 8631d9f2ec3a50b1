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
_DECIMALS = 50
"""At math-verify's own 15 and 6, small numbers such as 2^-99 and 2^-98 are equal."""
_TOKEN = re.compile(r"\\f?boxed\s*\{|\\fbox\s*\{|\\\\(?!f?boxed|fbox)|\\[{}]|[{}]")
"""A box's start, an escape that is no brace of ours, or a brace."""
_TEXT = re.compile(r"\S")
_PHRASE = re.compile(r"\banswer[*_]*\s*(?:is\b|:)[*_:\s]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.?!]\s|\n")
_NOISE = re.compile(r"(?<!\\)\\(?:(?:left|right|displaystyle)(?![a-zA-Z])|[!()\[\]])|\\?\$|\0")
_SPACE = re.compile(r"(?:(?<!\\)\\[,;: ]|\s|~)+")
_LOOSE_SPACE = re.compile(r"(?<![A-Za-z0-9.]) | (?![A-Za-z0-9.])")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,|\{,\}| )\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_FRACTION = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>\d+) )?"
    r"(?:\\frac\{(?P<top>[+-]?\d+)\}\{(?P<bottom>\d+)\}|(?P<n>\d+)/(?P<d>\d+))"
)
_TWO_NUMBERS = re.compile(r"[+-]?[\d.]+ \d")
_UPRIGHT = re.compile(r"\\(?:mathrm|operatorname)\{([ei])\}")


def grade(response: str, reference: Any, **_: Any) -> Outcome:
    """Return whether the response's final answer equals the reference.

    Only text after the last `</think>` counts. No answer is wrong; a reference that can't be
    understood is an error, never a wrong answer.
    """
    gold = normalise(str(reference))
    if not gold:
        return error("bad_reference", reference=str(reference)[:_MAX_ANSWER_CHARS])
    answer = extract(response)
    if answer is None:
        return Outcome(status="ok", reason="no_answer")
    detail = {"extracted": answer[:_MAX_ANSWER_CHARS]}
    text = normalise(answer)
    if text == gold:
        return _verdict(True, "identical", detail)
    if _is_too_big(gold):
        return error("bad_reference", reference=gold[:_MAX_ANSWER_CHARS])
    if _is_too_big(text):
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
    return _last_phrase(tail[-_MAX_ANSWER_CHARS:])


def _last_box(text: str) -> str | None:
    """Match braces in one pass; the box that ends last counts, an unclosed or empty one never."""
    last = None
    starts: list[int | None] = []
    for token in _TOKEN.finditer(text):
        if token.group().endswith("{") and token.group() != r"\{":
            starts.append(token.end() if len(token.group()) > 1 else None)
        elif token.group() == "}" and starts:
            start = starts.pop()
            if start is not None and _TEXT.search(text, start, token.start()):
                last = start, token.start()
    return text[slice(*last)].strip() if last else None


def _last_phrase(text: str) -> str | None:
    """Return the rest of the sentence after the last "answer is" or "Answer:"."""
    end = max((match.end() for match in _PHRASE.finditer(text)), default=None)
    if end is None:
        return None
    sentence = _SENTENCE_END.split(text[end:], maxsplit=1)[0]
    return sentence.strip(" *_`").rstrip(".?! ") or None


def normalise(text: str) -> str:
    """Drop what never changes a value: dollar signs, sizing commands, most spaces, a final dot.

    A space between letters or digits stays: `1 1/2` is not `11/2`.
    """
    text = text.replace("\u2212", "-").replace("dfrac", "frac").replace("tfrac", "frac")
    text = _SPACE.sub(" ", _NOISE.sub("", _UPRIGHT.sub(r"{\1}", text)))
    text = _LOOSE_SPACE.sub("", text).rstrip(".")
    if _GROUPED.fullmatch(text):
        return text.replace("{,}", "").replace(",", "").replace(" ", "")
    return text


def exact_number(text: str) -> Fraction | None:
    """Return the value of an integer, decimal or plain fraction; None for anything else."""
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    numerator, denominator = int(match["top"] or match["n"]), int(match["bottom"] or match["d"])
    if denominator == 0:
        return None
    value = int(match["whole"] or 0) + Fraction(numerator, denominator)
    return -value if match["sign"] == "-" else value


def _is_too_big(text: str) -> bool:
    return len(text) > _MAX_ANSWER_CHARS or _nesting(text) > _MAX_NESTING


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
    from math_verify import verify

    parsed_gold = _parse(gold)
    if not parsed_gold:
        return error("bad_reference", reference=gold)
    parsed = _parse(answer)
    if not parsed:
        return _verdict(False, "unparsed", detail)
    is_right = verify(
        parsed_gold,
        parsed,
        float_rounding=_DECIMALS,
        numeric_precision=_DECIMALS,
        timeout_seconds=None,
    )
    return _verdict(is_right, "equal" if is_right else "different", detail)


def _parse(text: str) -> list[Any]:
    """Parse a whole formula; empty if it can't be, also where a part of it could."""
    from math_verify import LatexExtractionConfig, parse

    if _TWO_NUMBERS.match(text):  # math-verify would keep the first number
        return []
    # The process is the time limit: math-verify's own is a signal, which only a main thread can
    # take. Formulas only, without fallback: else it takes a number out of what it can't read.
    return parse(  # type: ignore[no-any-return]
        f"${text}$",
        [LatexExtractionConfig()],
        fallback_mode="no_fallback",
        extraction_mode="first_match",
        parsing_timeout=None,
    )
