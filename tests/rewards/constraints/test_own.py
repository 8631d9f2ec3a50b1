"""Our own constraints, and the guard against texts that say nothing."""

import pytest
from constraint_checks import is_met

from rewards.constraints.own import CONSTRAINTS, has_substance

SCHEMA = {
    "type": "object",
    "properties": {"age": {"$ref": "#/$defs/age"}},
    "required": ["age"],
    "$defs": {"age": {"type": "integer", "minimum": 0}},
}
PROSE = "The harbour was quiet that morning, and only two boats had come in from the open sea."

RIGHT = [
    ("First plan, then build, then test it.", "order:keywords", {"keywords": ["plan", "test"]}),
    ("- apple\n- Banana\n- \u00e9clair", "order:sorted_items", {}),
    ("1. pear\n2. fig", "order:sorted_items", {"descending": True}),
    ("Two:\n1. a\n  - b\n\u2022 c", "items:count", {"relation": "exactly", "num_items": 3}),
    ('```json\n{"age": 3}\n```', "json:schema", {"schema": SCHEMA}),
    ("a b c", "length:words", {"min_words": 3, "max_words": 3}),
    ("One. Two.", "length:sentences", {"max_sentences": 2}),
    ("  abc \n", "length:characters", {"min_characters": 3, "max_characters": 3}),
    ("call 555-1234 now", "pattern:present", {"pattern": r"\d{3}-\d{4}"}),
    ("no digits", "pattern:absent", {"pattern": r"\d"}),
    (PROSE, "content:substance", {}),
]
WRONG = [
    ("Test it, then plan.", "order:keywords", {"keywords": ["plan", "test"]}),
    ("The plan only.", "order:keywords", {"keywords": ["plan", "test"]}),
    ("- pear\n- fig", "order:sorted_items", {}),
    ("- pear", "order:sorted_items", {}),
    ("1. a\n2. b", "items:count", {"relation": "exactly", "num_items": 3}),
    ('{"age": -1}', "json:schema", {"schema": SCHEMA}),
    ('{"age": 3} as asked', "json:schema", {"schema": SCHEMA}),
    ("[" * 5000 + "]" * 5000, "json:schema", {"schema": SCHEMA}),
    ("a b", "length:words", {"min_words": 3}),
    ("One. Two. Three.", "length:sentences", {"max_sentences": 2}),
    ("abcd", "length:characters", {"max_characters": 3}),
    ("call me", "pattern:present", {"pattern": r"\d{3}-\d{4}"}),
    ("1 digit", "pattern:absent", {"pattern": r"\d"}),
    ("Yes.", "content:substance", {}),
]


@pytest.mark.parametrize(("text", "name", "kwargs"), RIGHT)
def test_what_meets_the_constraint_is_right(text, name, kwargs):
    assert is_met(text, name, **kwargs)


@pytest.mark.parametrize(("text", "name", "kwargs"), WRONG)
def test_what_does_not_meet_it_is_wrong(text, name, kwargs):
    assert not is_met(text, name, **kwargs)


def test_every_constraint_has_cases_of_both_kinds():
    assert {name for _, name, _ in RIGHT} == {name for _, name, _ in WRONG} == set(CONSTRAINTS)


@pytest.mark.parametrize(
    "text",
    [
        "very good " * 20,
        "The answer is as asked. " * 10,
        "amber " * 30,
        "\u597d" * 40,
        "... --- ... --- ... --- ... --- ... ---",
    ],
)
def test_repetition_is_no_substance(text):
    assert not has_substance(text)


def test_substance_is_seen_in_scripts_without_spaces():
    assert has_substance("\u6211\u4eec\u660e\u5929\u65e9\u4e0a\u5728\u6e2f\u53e3\u89c1\u3002")


def test_the_limits_of_substance_can_be_set():
    assert has_substance("Yes.", min_words=1)
    assert not has_substance(PROSE, min_words=40)
    verse = "row row row your boat gently down the stream " * 2
    assert has_substance(verse) != has_substance(verse, max_repetition=10)
