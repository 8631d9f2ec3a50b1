r"""The `math` reward: the final answer of a response against the reference.

`grade` decides everything, and may need mpmath or math-verify: call it where the process can be
killed (rewards.service does). `decide_cheaply` is the same for the many answers that pure Python
settles in well under a millisecond, in any process.
"""

from fractions import Fraction
from typing import Any

from rewards.answers import FinalAnswer, NoAnswer, extract, final_part
from rewards.choices.lone_letter import choose_letter, names_another, option_letter
from rewards.mathematics import symbolic
from rewards.mathematics.decision import Decision, Mode, Verdict, all_of, different, equal
from rewards.mathematics.equivalence import decide
from rewards.mathematics.options import MathOptions, read_options
from rewards.types import Outcome, error

SELF_TEST = [
    (r"so the answer is \boxed{12}", "12", True),
    (r"so the answer is \boxed{\frac{1}{2}}", "0.5", True),
    (r"first \boxed{3}, but no: \boxed{x^2+2x}", "x(x+2)", True),
    (r"the length is \boxed{120\text{ mm}}", r"12\text{ cm}", True),
    (r"therefore \boxed{\sin 2x}", r"2\sin x\cos x", True),
    (r"so \boxed{\int_0^1 2x\,dx}", "1", True),
    (r"so the answer is \boxed{13}", "12", False),
    (r"so the answer is \boxed{5 \text{ or } 7}", "7", False),
    ("the answer must be 12 or so", "12", False),
    ("", "12", False),
]
"""(response, reference, expected verdict)."""

_MAX_SHOWN_CHARS = 500
_NO_PARTS = ("0",)


def grade(response: str, reference: Any, **fields: Any) -> Outcome:
    """Return whether the response's final answer equals the reference.

    Only text after the last `</think>` counts. No answer is wrong; a reference that can't be
    understood is an error, never a wrong answer. The options among `fields` are those of
    `mathematics.options.MathOptions`.
    """
    outcome = _grade(response, reference, fields, is_cheap=False)
    assert outcome is not None
    return outcome


def decide_cheaply(response: str, reference: Any, **fields: Any) -> Outcome | None:
    """Return what `grade` returns if pure Python can tell, in bounded time; None if it can't."""
    return _grade(response, reference, fields, is_cheap=True)


def check_reference(reference: Any, **fields: Any) -> None:
    """See, when rows are loaded, that a row has a reference and sound options. Raises ValueError.

    Whether the reference can be understood shows when it is graded.
    """
    read_options(fields)
    if isinstance(reference, bool) or not isinstance(reference, str | int | float | Fraction):
        raise ValueError(f"the reference of math is a text or a number, got {reference!r:.80}")
    if not str(reference).strip():
        raise ValueError("the reference of math is blank")


def warm_up() -> None:
    """Import what the last rungs need before the first deadline starts."""
    import mpmath  # noqa: F401

    symbolic.warm_up()


def _grade(
    response: str, reference: Any, fields: dict[str, Any], *, is_cheap: bool
) -> Outcome | None:
    try:
        options = read_options(fields)
    except ValueError as problem:
        return error("bad_option", problem=str(problem))
    if isinstance(reference, bool) or not isinstance(reference, str | int | float | Fraction):
        return error("bad_reference", type=type(reference).__name__, allowed="a text or a number")
    gold = str(reference)
    answer = extract(response, require_box=options.require_box, last_number=options.last_number)
    # Without an answer too, a reference that can't be read is an error, not a wrong answer.
    parts = answer.parts if isinstance(answer, FinalAnswer) else _NO_PARTS
    mode = Mode(options, is_cheap)
    decision = decide(gold, parts, mode)
    if decision.is_equal and isinstance(answer, FinalAnswer):
        spellings = (decide(gold, (spelling,), mode) for spelling in answer.spellings)
        decision = all_of([decision, *spellings])
    if decision.verdict is Verdict.UNUSABLE:
        return error("bad_reference", reference=gold[:_MAX_SHOWN_CHARS])
    if is_cheap and decision.verdict is Verdict.UNDECIDED:
        return None
    letter = option_letter(gold)
    is_box = isinstance(answer, FinalAnswer) and answer.source == "box"
    if letter and not (is_box and decision.is_equal):
        if is_cheap:
            return None
        chosen = _by_letter(response, answer, letter, decision, options)
        if chosen:
            return chosen
    if isinstance(answer, NoAnswer):
        return Outcome(status="ok", reason=answer.reason, detail={"candidates": answer.detail})
    return _outcome(decision, answer.text, answer.source)


def _by_letter(
    response: str,
    answer: FinalAnswer | NoAnswer,
    letter: str,
    decision: Decision,
    options: MathOptions,
) -> Outcome | None:
    """Return what the choice of an option changes about the decision; None: nothing.

    A letter that is the answer must be the only one; what is no letter may choose the option.
    """
    text = final_part(response) or ""
    if decision.is_equal:
        if not names_another(text, letter):
            return None
        assert isinstance(answer, FinalAnswer)
        return _outcome(different("option"), answer.text, answer.source)
    choice = choose_letter(text, answer, letter, only_box=options.require_box)
    if choice is None or not choice.is_right:
        return None
    return _outcome(equal("option"), choice.extracted, choice.source)


def _outcome(decision: Decision, answer: str, source: str) -> Outcome:
    return Outcome(
        status="ok",
        correct=decision.is_equal,
        value=float(decision.is_equal),
        reason=decision.reason,
        detail={"extracted": answer[:_MAX_SHOWN_CHARS], "source": source, "rung": decision.rung},
    )
