"""Where the final answer of a response is found."""

import pytest

from rewards.answers import (
    FinalAnswer,
    NoAnswer,
    answer_phrase,
    extract,
    final_part,
    find_boxes,
    last_line,
    last_number_in,
)


def test_only_what_follows_the_thinking_counts():
    assert final_part("<think>a</think>b") == "b"
    assert final_part("a</think>b</think>c") == "c"
    assert final_part("no tags") == "no tags"
    assert final_part("<think>a") is None
    assert final_part("<think>a</think>b<think>c") is None
    assert final_part("<think>a</think>b<think>c</think>d") == "d"
    assert final_part("a</think>") == ""


def test_line_breaks_before_the_answer_are_no_part_of_it():
    assert final_part("<think>a</think>\r\n\n  b\n") == "  b\n"
    assert final_part("\n\nb") == "b"


def test_boxes_are_matched_by_braces_and_the_outermost_count():
    contents = [box.content for box in find_boxes(r"\boxed{\frac{1}{2}} \fbox{ {a} } \boxed 7")]
    assert contents == [r"\frac{1}{2}", "{a}", "7"]
    assert [box.content for box in find_boxes(r"\boxed{a \boxed{b} c}")] == [r"a \boxed{b} c"]
    assert [box.content for box in find_boxes(r"\boxed{a and \boxed{b}")] == ["b"]
    assert [box.content for box in find_boxes(r"} \boxed{\{1\}} {")] == [r"\{1\}"]


@pytest.mark.parametrize("content", ["", " ", "...", "answer", r"\text{your answer}", r"\ldots"])
def test_a_placeholder_is_no_box(content):
    assert find_boxes(rf"\boxed{{{content}}}") == []


def test_boxes_of_one_sentence_are_parts_of_one_answer():
    assert extract(r"$\boxed{4}$ and $\boxed{-6}$.").parts == ("4", "-6")
    assert extract(r"\boxed{1}, \boxed{2}, and \boxed{3}").parts == ("1", "2", "3")
    assert extract(r"\boxed{1}. So \boxed{2}").parts == ("2",)
    assert extract(r"\boxed{1}, that is \boxed{2}").parts == ("2",)


def test_boxes_given_as_the_same_are_kept_beside_the_last():
    assert extract(r"\boxed{1/2}, or equivalently \boxed{0.5}") == FinalAnswer(
        ("0.5",), "box", ("1/2",)
    )


def test_what_the_text_behind_takes_back_is_no_answer():
    assert extract(r"\boxed{5} is not the answer") == NoAnswer("retracted", "5")
    assert extract("The answer is 5. No, that is wrong.") == NoAnswer("retracted", "5")
    assert extract(r"\boxed{5}. It is not even.").parts == ("5",)


def test_candidates_are_no_answer():
    assert extract(r"Option 1: \boxed{1}. Option 2: \boxed{2}").reason == "hedged"
    assert extract(r"\boxed{1} or possibly \boxed{2}").reason == "hedged"
    assert extract(r"\boxed{1} \boxed{2}") == NoAnswer("sprayed", "1 2")
    assert extract(r"\boxed{1} or \boxed{2}") == NoAnswer("hedged", "1 or 2")
    assert extract(r"\boxed{5} \boxed{ 5 }").parts == ("5",)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is 3? No, the answer is **3.5**. It fits.", "3.5"),
        ("Answer: $75", "$75"),
        ("the answer is $5$ because $2+3=5$", "$5$"),
        ("So the answer is:\n\\[\nx+1\n\\]", "x+1"),
        ("The answer is \\(11,\\! 111\\).", "\\(11,\\! 111\\)"),
        ("\u7b54\u6848\u662f\uff1a12\u3002", "12"),
        ("The answer is", None),
        ("no such words", None),
    ],
)
def test_the_last_answer_phrase(text, answer):
    assert answer_phrase(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so\n**x = 5**", "x = 5"),
        ("so\n#### 1,200", "1,200"),
        ("so\nA: 10", "10"),
        ("so\n\\[ x^2 \\]", "x^2"),
        ("so\n- 5", None),
        ("that makes 5 apples", None),
        ("first 3+4 =", None),
        ("", None),
    ],
)
def test_a_lone_last_line_is_a_formula(text, answer):
    assert last_line(text) == answer


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9*2=$18 a day", "18"),
        ("it is 5-3 km", "3"),
        ("fell by -3 today", "-3"),
        ("1,200 eggs.", "1,200"),
    ],
)
def test_the_last_number_keeps_its_sign(text, number):
    assert last_number_in(text) == number


def test_the_last_number_is_searched_on_request_only():
    assert extract("that makes 18 dollars") == NoAnswer("no_answer")
    assert extract("that makes 18 dollars", last_number=True) == FinalAnswer(("18",), "number")


def test_a_box_may_be_required():
    assert extract("The answer is 5.", require_box=True) == NoAnswer("no_box")
