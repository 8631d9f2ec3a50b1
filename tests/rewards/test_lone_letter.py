r"""The math reward where the reference is one option's letter: options, and variables named so."""

import pytest

from rewards.choices.lone_letter import option_letter
from rewards.math_answer import decide_cheaply, grade

CHOSEN = [
    r"\boxed{B}",
    r"\boxed{\textbf{(B)}\ 12}",
    r"\boxed{\textbf{(B)}12}",
    r"\boxed{\mathbf{(B)}\,12}",
    r"\boxed{\text{(B) } \frac{1}{2}}",
    r"\boxed{\textbf{(B)}\ 3\text{ or }4}",
    r"\boxed{\textbf{(B)}\ x = 3}",
    r"\boxed{B. 12}",
    r"\boxed{\text{B: } 12}",
    r"\boxed{\text{Option B}}",
    "The answer is option B.",
    "Therefore, the correct option is B.",
    "The correct answer is (B) 12.",
    r"Hence the answer is \(\textbf{(B)}~12\)",
    "**Answer: B) 12**",
    r"\boxed{\textbf{(B)}\ -12}",
    r"\boxed{\textbf{(B)}\ (3, 4)}",
    r"\boxed{B: \text{twelve}}",
    "The answer is 12, option B.",
    "The answer is 12 (B).",
    "The answer is not A but B.",
    "The answer is 12. The correct option is B.",
    "The correct option is B, since it is the sum.",
    "The correct option is B because A is too small.",
    "\u6545\u9009B",
    "\u6240\u4ee5\u9009B\u3002",
    "\u6b63\u786e\u9009\u9879\u662fB",
    "\u7b54\u6848\u9009B",
]
NOT_CHOSEN = [
    r"\boxed{\textbf{(C)}\ 12}",
    r"\boxed{12}",
    r"\boxed{B=5}",
    r"\boxed{2B}",
    r"\boxed{b}",
    r"\boxed{B^2}",
    r"\boxed{B_1}",
    r"\boxed{\angle B}",
    r"\boxed{\frac{B}{2}}",
    r"\boxed{(B)x}",
    r"\boxed{B(x)}",
    r"\boxed{B:C}",
    r"\boxed{(B)(C)}",
    r"\boxed{A - B}",
    r"\boxed{B - A}",
    r"\boxed{(B - 1)}",
    r"\boxed{-B}",
    r"\boxed{B!}",
    r"\boxed{B - 2C}",
    r"\boxed{B (1+x)}",
    r"\boxed{B (3, 4)}",
    r"\boxed{(B) - 1}",
    r"\boxed{(B) * 2}",
    r"\boxed{(B) \cdot 2}",
    r"\boxed{(B) C}",
    r"\boxed{B : 2}",
    r"\boxed{2 - B}",
    r"\boxed{P (B)}",
    r"\boxed{\cos (B)}",
    r"\boxed{B \text{ cm}}",
    r"\boxed{B, 12}",
    "The answer is B - 1.",
    "I would pick B. But the correct one is D.",
    "The answer is B. But the correct one is D.",
    "The answer is B. So the correct option is C.",
    "\\boxed{12}\n\nThe answer is B.",
    r"\boxed{B \text{ or } C}",
    r"\boxed{\textbf{(B)}\ 12 \text{ or } \textbf{(C)}\ 13}",
    r"\boxed{A}\boxed{B}",
    r"\boxed{B}. Wait, that is wrong.",
    r"Option B says 3. \boxed{7}",
    "The answer is not B.",
    "The answer is B or C.",
    "The answer is B = 5.",
    "Option B is wrong. The answer is C.",
    "We choose the point B. Then the length is 5.",
    "\u6545\u9009C",
    "\u4e0d\u9009B",
    "<think>The answer is B.",
    "<think>The answer is B.</think>",
    "",
]


@pytest.mark.parametrize("response", CHOSEN)
def test_a_response_that_chooses_the_option_is_right(response):
    outcome = grade(response, "B")
    assert outcome.is_valid
    assert outcome.correct, outcome
    assert grade(response, r"\textbf{(B)}").correct
    assert not grade(response, "C").correct


@pytest.mark.parametrize("response", NOT_CHOSEN)
def test_another_option_a_variable_or_none_is_wrong(response):
    outcome = grade(response, "B")
    assert outcome.is_valid
    assert not outcome.correct, outcome


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("\\boxed{C}\nThe answer is B", ["C"]),
        ("\\boxed{12}\nThe answer is B", []),
        ("The answer is B.\nThe correct option is C.", []),
        ("The answer is B. But the correct one is D.", []),
        ("I would pick B. But the correct one is D.", []),
        ("The correct option is B.\nThe answer is C.", ["C"]),
        (r"\boxed{A - B}", []),
        (r"\boxed{A} and \boxed{B}", []),
    ],
)
def test_one_response_is_right_for_one_letter_at_most(response, right):
    assert [each for each in "ABCDEFGH" if grade(response, each).correct] == right


def test_with_require_box_only_the_box_chooses():
    assert not grade("The answer is option B.", "B", require_box=True).correct
    assert grade(r"\boxed{\textbf{(B)}\ 12}", "B", require_box=True).correct
    assert not grade("\\boxed{12}\n\nThe answer is B.", "B", require_box=True).correct


def test_what_a_letter_needs_is_left_to_the_killable_process():
    assert decide_cheaply("The answer is option B.", "B") is None
    assert decide_cheaply(r"\boxed{B}", "B").correct


@pytest.mark.parametrize("reference", ["B", "(B)", "$B$", r"\text{B}", r"\textbf{(B)}"])
def test_a_lone_letter_is_an_option(reference):
    assert option_letter(reference) == "B"


@pytest.mark.parametrize("reference", ["2B", "b", "x", "BC", "B=1", "B_1", "N", "12", "(A,B)"])
def test_anything_else_is_none(reference):
    assert option_letter(reference) is None
