r"""The `stem` reward: the option, value or word that a response answers, against the reference.

A reference is `{"answer": ..., "options": {"A": ...} or [...], "unit": ..., "tolerance": ...}`, all
but the answer optional, or the bare answer.
"""

from typing import Any

from rewards.answers import final_part
from rewards.choices.question import read_question
from rewards.choices.selection import choose
from rewards.mathematics import symbolic
from rewards.types import Outcome, error

_ORGANELLES = {"A": "mitochondrion", "B": "ribosome", "C": "chloroplast", "D": "nucleus"}
SELF_TEST = [
    ("Answer: C", {"answer": "C", "options": _ORGANELLES}, True),
    (r"so it is \boxed{\text{(C)}}", {"answer": "C", "options": _ORGANELLES}, True),
    ("The answer is the chloroplast.", {"answer": "C", "options": _ORGANELLES}, True),
    ("Answer: C) ribosome", {"answer": "C", "options": _ORGANELLES}, False),
    ("Answer: B or C", {"answer": "C", "options": _ORGANELLES}, False),
    ("The answer is not C.", {"answer": "C", "options": _ORGANELLES}, False),
    (r"\boxed{981\ \text{cm/s}^2}", {"answer": "9.81", "unit": "m/s^2"}, True),
    ("Answer: 9.81 m/s", {"answer": "9.81 m/s^2"}, False),
    ("Answer: Co", "CO", False),
    ("", "CO", False),
]
"""(response, reference, expected verdict)."""
_MAX_SHOWN_CHARS = 500


def grade(response: str, reference: Any, **fields: Any) -> Outcome:
    """Return whether the response answers what the reference says.

    Only text after the last `</think>` counts. No answer is wrong; a row that can't be used is the
    error `bad_reference`.
    """
    try:
        question = read_question(reference, fields)
    except ValueError as problem:
        return error("bad_reference", problem=str(problem))
    text = final_part(response)
    if text is None:
        return Outcome(status="ok", reason="unfinished_thinking")
    choice = choose(text.replace("\0", " "), question)
    return Outcome(
        status="ok",
        correct=choice.is_right,
        value=float(choice.is_right),
        reason=choice.reason,
        detail={"extracted": choice.extracted[:_MAX_SHOWN_CHARS], "source": choice.source},
    )


def check_reference(reference: Any, **fields: Any) -> None:
    """Raise ValueError that names the field if a row can't be graded."""
    read_question(reference, fields)


def warm_up() -> None:
    """Import what comparisons of formulas need before the first deadline starts."""
    import mpmath  # noqa: F401

    symbolic.warm_up()
