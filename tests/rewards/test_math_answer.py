"""The math grader: true, false, malformed and hostile items."""

import pytest

from rewards import math_answer
from rewards.math_answer import decide_cheaply, grade

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
    (r"\boxed{30 \text{ (with a Remainder of } 0 \text{)}}", "30.0"),
    (r"\boxed{30 (remainder 0)}", "30"),
    (r"\boxed{30\text{ R }0}", "30"),
    (r"\boxed{7 \text{ remainder } 2}", r"7\text{ remainder }2"),
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
    (r"\boxed{30 \text{ (with a remainder of } 2)}", "30"),
    (r"\boxed{30 \text{ (with a remainder of } 0.5)}", "30"),
    (r"\boxed{30 (remainder 0)}", "0"),
    (r"\boxed{31 \text{ remainder } 0}", "30"),
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


@pytest.mark.parametrize("reference", [None, True, ["1"], {"answer": 1}])
def test_a_reference_that_is_no_text_or_number_is_an_error(reference):
    outcome = grade(r"\boxed{1}", reference)
    assert (outcome.reason, outcome.detail["type"]) == ("bad_reference", type(reference).__name__)


@pytest.mark.parametrize("reference", ["", "x^2+", r"\int_{foo}"])
def test_an_unusable_reference_is_an_error_without_an_answer_too(reference):
    assert grade("I don't know", reference).reason == "bad_reference"


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
    assert decide_cheaply(response, "1").word == "wrong"
    assert grade(response, "1").word == "wrong"


def test_an_option_that_is_not_known_or_not_allowed_is_an_error():
    outcome = grade(r"\boxed{1}", "1", requirebox=True)
    assert (outcome.word, outcome.reason) == ("error", "bad_option")
    assert "did you mean require_box" in outcome.detail["problem"]
    assert grade(r"\boxed{1}", "1", level=3, subject="algebra").correct


def test_a_cheap_verdict_is_left_open_where_a_probe_is_needed():
    assert decide_cheaply(r"\boxed{\sin 2x}", r"2\sin x\cos x") is None
    assert decide_cheaply(r"\boxed{9^{9^{9^{9}}}}", "x+1").reason == "too_big"


def test_a_long_sum_is_left_to_where_it_can_be_killed():
    short, long = (rf"\boxed{{\sum_{{k=1}}^{{{n}}}\frac{{1}}{{k(k+1)}}}}" for n in (20, 900))
    assert decide_cheaply(short, r"\frac{20}{21}").correct
    assert decide_cheaply(long, r"\frac{900}{901}") is None
    assert grade(long, r"\frac{900}{901}").correct


def test_many_boxes_for_one_value_are_not_read():
    boxes = " and ".join(rf"\boxed{{{n}+{n}}}" for n in range(40))
    assert grade(boxes, "7").reason == "sprayed"
    assert grade(boxes.replace("+", "+x" * 500 + "+"), "1, 2").reason == "too_big"


@pytest.mark.parametrize("piece", ["!^1", "^1", "!^{2}"])
def test_a_long_chain_behind_a_factor_is_refused(piece):
    assert grade(rf"\boxed{{x{piece * 260}}}", "x+1").reason == "unparsed"
    assert grade(rf"\boxed{{x{piece * 5}}}", "x+1").reason != "unparsed"


def test_the_outcome_names_what_was_compared():
    outcome = grade(r"\boxed{b}", "c")
    assert outcome.detail == {"extracted": "b", "source": "box", "rung": "exact"}
