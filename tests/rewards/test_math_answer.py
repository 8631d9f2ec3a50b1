"""The math grader: true, false, malformed and hostile items."""

import pytest

from rewards import math_answer
from rewards.math_answer import extract, grade

RIGHT = [
    (r"thus \boxed{42}", "42"),
    (r"\boxed{1,234}", "1234"),
    (r"\boxed{\dfrac{3}{4}}", r"\frac{3}{4}"),
    (r"\boxed{0.75}", "3/4"),
    (r"\boxed{-\frac{1}{2}}", "-0.5"),
    (r"\boxed{ 7. }", "7"),
    (r"\fbox{9}", "9"),
    (r"\boxed{\frac{\sqrt{3}}{2^{n}}}", r"\frac{\sqrt{3}}{2^{n}}"),
    (r"first \boxed{5}, no, wait: \boxed{6}", "6"),
    (r"\boxed{5} and an unclosed \boxed{6", "5"),
    ("<think>maybe \\boxed{1}</think> So \\boxed{2}", "2"),
    ("The final answer is 12.", "12"),
    ("Answer: $x^2+1$", "1+x^2"),
    (r"\boxed{x(x+1)}", "x^2+x"),
    (r"\boxed{\sqrt{8}}", r"2\sqrt{2}"),
    (r"\boxed{\$18}", "18"),
    (r"\boxed{\$1,000}", "1000"),
    ("**Answer:** 12", "12"),
    ("**Answer**: **12**", "12"),
    (r"an unclosed \boxed{6 and then \boxed{5}", "5"),
    (r"\boxed{\boxed{5}}", "5"),
    (r"\boxed{5} \boxed{ }", "5"),
    (r"\boxed{\left\{1,2\right\}}", r"\{1,2\}"),
    (r"\\boxed{7}", "7"),
    ("The answer is 3? No, the answer is 5.", "5"),
    ("**Final answer**: **1.5**. It fits.", "3/2"),
    (r"\boxed{1 1/2}", "3/2"),
    (r"\boxed{-2\ \frac{1}{3}}", "-7/3"),
    (r"\boxed{45\,000}", "45000"),
    (r"\boxed{45{,}000}", "45000"),
    (r"\boxed{2 \pi r}", r"r\cdot 2\pi"),
    (r"\boxed{\log_2 8}", "3"),
    (r"\boxed{1-e^{-1}}", r"1-\frac{1}{\mathrm{e}}"),
    (r"\boxed{\int_{foo}}", r"\int_{foo}"),
]
WRONG = [
    (r"\boxed{41}", "42"),
    (r"\boxed{1 2}", "12"),
    (r"first \boxed{6}, no, wait: \boxed{5}", "6"),
    ("the last number is 42", "42"),
    (r"\boxed{}", "0"),
    ("", "42"),
    ("<think>\\boxed{42}", "42"),
    (r"\boxed{0.33}", "1/3"),
    (r"\boxed{12345678901234567891}", "12345678901234567890"),
    (r"\boxed{\frac{1}{0}}", "1"),
    (r"\boxed{1 = 1}}}}", "2"),
    ("\\boxed{4\0 1}", "42"),
    (r"\boxed{1 1/2}", "11/2"),
    (r"\boxed{4 1}", "41"),
    (r"\boxed{4 1}", "4"),
    (r"\boxed{5 or 7}", "5"),
    (r"\boxed{4\sqrt(2)}", "4"),
    (r"\boxed{1+\frac{1}{\mathrm{e}}}", r"1-\frac{1}{\mathrm{e}}"),
    (r"\boxed{1+\frac{1}{\badmacro{e}}}", "1"),
    (r"\boxed{\frac{1}{2^{98}}}", r"\frac{1}{2^{99}}"),
    (r"\boxed{(1,2]}", "[1,2)"),
    ("The answer is", "1"),
]


@pytest.mark.parametrize(("response", "reference"), RIGHT)
def test_a_right_answer_is_correct(response, reference):
    outcome = grade(response, reference)
    assert outcome.word == "correct", outcome
    assert outcome.value == 1.0


@pytest.mark.parametrize(("response", "reference"), WRONG)
def test_a_wrong_answer_is_wrong_not_an_error(response, reference):
    outcome = grade(response, reference)
    assert outcome.word == "wrong", outcome
    assert outcome.value == 0.0


@pytest.mark.parametrize(
    "reference", ["", "   ", "$$", r"\int_{foo}", "x^2+", "9" * 5000, "1+" * 1500 + "1"]
)
def test_an_unusable_reference_is_an_error_not_a_wrong_answer(reference):
    outcome = grade(r"\boxed{1}", reference)
    assert (outcome.word, outcome.reason) == ("error", "bad_reference")


def test_self_test_items_hold():
    for response, reference, expected in math_answer.SELF_TEST:
        assert grade(response, reference).correct == expected


def test_a_reference_may_be_a_number():
    assert grade(r"\boxed{3}", 3).correct


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{" + "{" * 1_000_000,
        "\\boxed{" + "(" * 1_000_000 + "1" + ")" * 1_000_000 + "}",
        "\\boxed" * 200_000,
        "\\boxed{" * 100_000 + "1" + "}" * 100_000,
        "answer is " * 100_000,
        "x" * 5_000_000,
        r"\boxed{" + "9" * 100_000 + "}",
        "\\" * 1_000_001 + "boxed{2}",
        "\\boxed" + " " * 1_000_000 + "{2}",
        "\\boxed{ " * 100_000 + " " * 1_000_000 + "}" * 100_000,
        "\0" * 1_000_000,
    ],
    ids=[
        *["open", "deep", "bare", "nested", "phrases", "long", "digits"],
        *["backslashes", "spaces", "blank", "nul"],
    ],
)
@pytest.mark.timeout(20)
def test_hostile_text_is_wrong_and_fast(response):
    assert grade(response, "1").word == "wrong"


def test_extraction_names_what_was_compared():
    assert extract(r"\boxed{a} so \boxed{ b }") == "b"
    assert grade(r"\boxed{b}", "c").detail["extracted"] == "b"
    assert extract("no box, no phrase") is None
