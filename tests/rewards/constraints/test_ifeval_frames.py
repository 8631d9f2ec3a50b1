"""Requests that are repeated, two responses, texts in quotes: the neighbours of right and wrong."""

import pytest
from constraint_checks import is_met

TWO = "combination:two_responses"
REPEAT = "combination:repeat_prompt"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Go by car", "Go by bus"),
        ("It is 3.5", "It is 35"),
        ("5%", "5"),
        ("-5", "5"),
        ("x > y", "x < y"),
        ("A: yes", "B: no"),
    ],
)
def test_responses_that_say_different_things_are_two(first, second):
    assert is_met(f"{first}\n******\n{second}", TWO)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A.", "A!"),
        ("**Go**", "*Go!*"),
        ("Go-by", "Go by"),
        ("Response 1: go.", "Response 2: go."),
        ("A.", "."),
    ],
)
def test_responses_that_say_the_same_or_nothing_are_not(first, second):
    assert not is_met(f"{first}\n******\n{second}", TWO)


@pytest.mark.parametrize(
    "text",
    ["Name two. Red", '"Name two" Red', "**Name two**\nRed", "> Name two\n\nRed", "_Name two_ red"],
)
def test_a_request_may_be_repeated_in_quotes_or_emphasis(text):
    assert is_met(text, REPEAT, prompt_to_repeat="Name two")


@pytest.mark.parametrize(
    "text",
    ["Name twofold things", "Name two-fold", "Name two's", "Name two. Name two", '"Name two"'],
)
def test_a_request_ends_at_the_edge_of_a_word_and_is_answered(text):
    assert not is_met(text, REPEAT, prompt_to_repeat="Name two")


def test_a_request_in_a_script_without_spaces_has_no_word_edge():
    request = "\u8bf7\u56de\u7b54"
    assert is_met(f"{request}\u7ea2\u8272", REPEAT, prompt_to_repeat=request)


@pytest.mark.parametrize(
    "text",
    [
        '"He said "hi" to me."',
        '"He said "hi.""',
        '""Hi" he said."',
        '"A\n\n"B"',
        '"A"\n\n"B"',
        '"A"\n******\n"B"',
        '"print("x")"',
        '"Say \\"hi\\" now"',
        '"Die \u201eWelt\u201c ist"',
    ],
)
def test_a_text_in_quotes_may_hold_quotes(text):
    assert is_met(text, "startend:quotation")


@pytest.mark.parametrize(
    "text",
    ['"Hi" and "bye"', '"Hi," she said, "bye."', '"Hi" "bye"', '"Hi"\n\nand\n\n"bye"', '"..."'],
)
def test_a_text_that_only_begins_and_ends_with_quotes_is_not_in_quotes(text):
    assert not is_met(text, "startend:quotation")


def test_a_paragraph_has_words():
    name = "length_constraints:number_paragraphs"
    assert is_met("A.\n***\nB", name, num_paragraphs=2)
    assert not is_met("A.\n***\n.", name, num_paragraphs=2)
    assert not is_met("A.\n***\n.\n***\nB", name, num_paragraphs=3)
    numbered = {"num_paragraphs": 2, "first_word": "one", "nth_paragraph": 1}
    name = "length_constraints:nth_paragraph_first_word"
    assert is_met("One.\n\n---\n\nTwo.", name, **numbered)
    assert not is_met("One.\n\n.", name, **numbered)
