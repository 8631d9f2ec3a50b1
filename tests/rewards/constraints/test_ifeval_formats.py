"""Marks that mark something, against those that are empty, spoken of or part of code."""

import pytest
from constraint_checks import is_met

ANSWER = "detectable_format:constrained_response"
TWO_SECTIONS = {"section_spliter": "SECTION", "num_sections": 2}


@pytest.mark.parametrize(
    "text",
    [
        "**My answer is no.**",
        '"My answer is maybe."',
        "I thought about it. My answer is yes. It fits.",
        'Sure.\n"My answer is yes."',
        "> My answer is yes.",
        "\u201cMy answer is yes.\u201d",
    ],
)
def test_a_fixed_answer_that_is_stated_counts(text):
    assert is_met(text, ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        "My answer is not My answer is yes.",
        'He said "My answer is yes."',
        'He said: "My answer is yes." but he was wrong.',
        "It is wrong to say: My answer is yes.",
        "I would never say My answer is no.",
        '"My answer is yes." is what he said.',
        '"Well. My answer is yes." he said.',
        "My answer is yes. Or: My answer is no.",
    ],
)
def test_a_fixed_answer_that_is_quoted_or_denied_does_not(text):
    assert not is_met(text, ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        "SECTION 1 Hello. SECTION 2 Bye.",
        "SECTION 1 [some content] SECTION 2 [more content]",
        "**SECTION 1:** hello\n\n## SECTION 2\nbye",
        "SECTION 1 hello. SECTION 2 bye.",
    ],
)
def test_sections_with_words_count(text):
    assert is_met(text, "detectable_format:multiple_sections", **TWO_SECTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "SECTION 1\nSECTION 2\n",
        "SECTION 1\nHello.\nSECTION 2\n...",
        "There is SECTION 1 and SECTION 2.",
        "SECTION 1\nHello, see SECTION 2 below.",
        "SECTION 1\nHello. SECTION 2 says no.",
        "SECTION 1\nHello.\nSECTION 2's end is not here.",
    ],
)
def test_sections_that_are_empty_or_spoken_of_do_not(text):
    assert not is_met(text, "detectable_format:multiple_sections", **TWO_SECTIONS)


@pytest.mark.parametrize(
    "text", ["*one.*", "***one***", "so *1* is"], ids=["words", "both", "digit"]
)
def test_a_highlight_has_words(text):
    assert is_met(text, "detectable_format:number_highlighted_sections", num_highlights=1)


@pytest.mark.parametrize("text", ["*.*", "**...** and *-*", "a *!* b"])
def test_a_highlight_without_words_is_none(text):
    assert not is_met(text, "detectable_format:number_highlighted_sections", num_highlights=1)


@pytest.mark.parametrize(
    "text",
    [
        "[first][last]",
        "[first]_[last]",
        "Pay $[amount] to [name].",
        "<[user]@[host]>",
        "\u8bf7\u586b[\u59d3\u540d]\u548c[\u5730\u5740]",
    ],
)
def test_placeholders_may_touch_signs_and_each_other(text):
    assert is_met(text, "detectable_content:number_placeholders", num_placeholders=2)


@pytest.mark.parametrize(
    "text", ["arr[i]", "f(x)[i]", "row[i][j]", "a_[i]", '["a", "b"]', "so it is.[^note]"]
)
def test_an_index_a_list_or_a_note_is_no_placeholder(text):
    assert not is_met(text, "detectable_content:number_placeholders", num_placeholders=1)


def test_a_bullet_has_words():
    name = "detectable_format:number_bullet_lists"
    assert is_met("* a\n* b\n* .", name, num_bullets=2)
    assert not is_met("* .\n* .", name, num_bullets=2)
