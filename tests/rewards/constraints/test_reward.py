"""The reward itself: fields, references, loose readings, what is an error and what is wrong."""

from pathlib import Path

import pytest

from rewards.constraints.loose import variants
from rewards.constraints.reward import CATALOGUES, SELF_TEST, check_reference, grade
from rewards.killable_pool import KillablePool
from rewards.registry import resolve, self_test_items
from rewards.types import ScoreRequest


def row(*constraints):
    return {"constraints": [{"id": name, "kwargs": kwargs} for name, kwargs in constraints]}


NO_COMMA = ("punctuation:no_comma", {})
LANTERN = ("keywords:existence", {"keywords": ["lantern"]})


def test_all_constraints_must_be_met_and_each_has_its_verdict():
    both = grade("A lantern.", row(NO_COMMA, LANTERN))
    one = grade("A lamp.", row(NO_COMMA, LANTERN))
    assert (both.correct, both.value, both.detail["verdicts"]) == (True, 1.0, [True, True])
    assert (one.correct, one.value, one.detail["verdicts"]) == (False, 0.0, [True, False])
    assert one.detail["failed"] == ["keywords:existence"]
    assert not one.is_graded


def test_the_same_id_twice_has_two_verdicts():
    words = "length_constraints:number_words"
    reference = row(
        (words, {"relation": "at least", "num_words": 20}),
        (words, {"relation": "at least", "num_words": 2}),
    )
    assert grade("one two three", reference).detail["verdicts"] == [False, True]


def test_the_fraction_is_graded_and_correct_only_when_whole():
    half = grade("A lamp.", row(NO_COMMA, LANTERN), fraction=True)
    assert (half.correct, half.value, half.is_graded) == (False, 0.5, True)
    assert grade("A lantern.", row(NO_COMMA, LANTERN), fraction=True).correct


def test_only_the_text_after_the_thinking_counts_but_in_compat():
    response = "<think>well, then</think>\n\nA lantern."
    assert grade(response, row(NO_COMMA)).correct
    assert not grade(response, row(NO_COMMA), compat="ifeval").correct
    assert not grade("<think>A lantern", row(LANTERN)).correct


def test_an_empty_text_meets_nothing():
    for response in ("", "  \n", "<think>x</think>\n"):
        assert grade(response, row(NO_COMMA)).detail["verdicts"] == [False]


def test_loose_takes_the_best_of_eight_readings():
    response = "Sure, here it is:\n*A lantern.*\nAnything else, friend?"
    assert variants("a\nb*\nc") == [
        "a\nb*\nc",
        "b*\nc",
        "a\nb*",
        "b*",
        "a\nb\nc",
        "b\nc",
        "a\nb",
        "b",
    ]
    assert not grade(response, row(NO_COMMA)).correct
    assert grade(response, row(NO_COMMA), strict=False).correct
    assert grade(response, row(NO_COMMA), strict="false").correct


def test_the_guard_makes_a_text_without_content_wrong():
    short = grade("Yes.", row(NO_COMMA), guard=True)
    assert (short.correct, short.value, short.reason) == (False, 0.0, "no_content")
    assert grade("Yes.", row(NO_COMMA), guard=True, fraction=True).value == 0.0
    prose = "The harbour was quiet and only two boats had come in from the open sea."
    assert grade(prose, row(NO_COMMA), guard=True).correct


def test_unknown_fields_of_the_row_are_none_of_our_business():
    assert grade("A lantern.", row(LANTERN), source="ifeval", key=12).correct


def test_compat_says_which_verdicts_are_approximate():
    sentences = (
        "length_constraints:number_sentences",
        {"relation": "at least", "num_sentences": 1},
    )
    outcome = grade("One. Two.", row(NO_COMMA, sentences), compat="ifeval")
    assert outcome.detail["approximate"] == ["length_constraints:number_sentences"]


BAD = [
    ("no constraints", {}, {}, "at least one"),
    ("a list", [], {}, "at least one"),
    ("none", {"constraints": []}, {}, "at least one"),
    ("no id", {"constraints": [{"kwargs": {}}]}, {}, "id, kwargs"),
    (
        "another key",
        {"constraints": [{"id": "punctuation:no_comma", "args": {}}]},
        {},
        "id, kwargs",
    ),
    ("id", row(("punctuation:no_coma", {})), {}, "did you mean punctuation:no_comma"),
    ("id of the other", row(("words:vowel", {})), {"compat": "ifeval"}, "compat ifeval"),
    ("kwargs", {"constraints": [{"id": "punctuation:no_comma", "kwargs": []}]}, {}, "an object"),
    ("kwarg", row(("punctuation:no_comma", {"commas": 1})), {}, "unknown kwarg 'commas'"),
    ("near", row(("keywords:existence", {"keyword": ["a"]})), {}, "did you mean keywords"),
    ("missing", row(("keywords:existence", {})), {}, "'keywords' is missing"),
    ("null", row(("keywords:existence", {"keywords": None})), {}, "'keywords' is missing"),
    ("string", row(("keywords:existence", {"keywords": "abc"})), {}, "a list of strings"),
    ("blank", row(("keywords:existence", {"keywords": [" "]})), {}, "not blank"),
    ("number", row(("count:numbers", {"N": 2.5})), {}, "a whole number"),
    ("true", row(("count:numbers", {"N": True})), {}, "a whole number"),
    ("nan", row(("count:numbers", {"N": float("nan")})), {}, "a whole number"),
    ("huge", row(("count:numbers", {"N": float("inf")})), {}, "a whole number"),
    (
        "letter",
        row(
            (
                "keywords:letter_frequency",
                {"letter": "ab", "let_relation": "at least", "let_frequency": 1},
            )
        ),
        {},
        "one character",
    ),
    (
        "relation",
        row(("length_constraints:number_words", {"relation": "around", "num_words": 1})),
        {},
        "one of less than",
    ),
    (
        "relation in compat",
        row(("length_constraints:number_words", {"relation": "at most", "num_words": 1})),
        {"compat": "ifeval"},
        "one of less than, at least",
    ),
    (
        "language",
        row(("language:response_language", {"language": "klingon"})),
        {},
        "a language code",
    ),
    (
        "range",
        row(("count:word_count_range", {"min_words": 9, "max_words": 2})),
        {},
        "must not be above",
    ),
    ("no limit", row(("length:words", {})), {}, "give min_words, max_words or both"),
    ("percentage", row(("ratio:stop_words", {"percentage": 120})), {}, "from 0 to 100"),
    ("pattern", row(("pattern:present", {"pattern": "("})), {}, "regular expression"),
    (
        "pattern in compat",
        row(("keywords:existence", {"keywords": ["a("]})),
        {"compat": "ifeval"},
        "regular expression",
    ),
    ("schema", row(("json:schema", {"schema": {"type": "objekt"}})), {}, "valid JSON schema"),
    (
        "schema reference",
        row(("json:schema", {"schema": {"$ref": "http://x.org/s"}})),
        {},
        "place in it",
    ),
    ("schema pointer", row(("json:schema", {"schema": {"$ref": "#/$defs/a"}})), {}, "place in it"),
    ("schema loop", row(("json:schema", {"schema": {"$ref": "#"}})), {}, "without end"),
    ("schema pattern", row(("json:schema", {"schema": {"pattern": "("}})), {}, "valid JSON schema"),
    ("compat as a list", row(NO_COMMA), {"compat": ["ifeval"]}, "one of ifeval, ifbench"),
    ("compat", row(NO_COMMA), {"compat": "ifevall"}, "one of ifeval, ifbench"),
    ("strict", row(NO_COMMA), {"strict": "maybe"}, "true or false"),
]


@pytest.mark.parametrize(
    ("reference", "fields", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_a_bad_reference_raises_at_load_and_is_an_error_when_graded(reference, fields, message):
    with pytest.raises(ValueError, match=message):
        check_reference(reference, **fields)
    outcome = grade("any text", reference, **fields)
    assert (outcome.status, outcome.reason) == ("error", "bad_reference")
    assert message in outcome.detail["problem"]


def test_whole_numbers_may_be_floats_and_nulls_are_absent():
    check_reference(row(("count:numbers", {"N": 2.0, "keyword": None})))


def test_a_pattern_without_end_is_an_error_not_a_wrong_answer(monkeypatch):
    monkeypatch.setattr("rewards.constraints.text.PATTERN_TIMEOUT_S", 0.05)
    reference = row(("pattern:present", {"pattern": r"(a|aa)+$"}))
    outcome = grade("a" * 60 + "b", reference)
    assert (outcome.status, outcome.reason) == ("error", "pattern_timeout")
    assert outcome.detail["constraint"] == "pattern:present"


def test_every_id_is_documented():
    page = Path(__file__).parents[3] / "rewards" / "constraints" / "README.md"
    readme = page.read_text(encoding="utf-8")
    for name in CATALOGUES[None]:
        kind, _, rest = name.partition(":")
        spellings = (f"`{name}`", f"`\u2026:{rest}`", f"`{kind}:*`")
        assert any(spelling in readme for spelling in spellings), name


def test_it_is_registered_with_known_items():
    assert resolve("constraints") is grade
    assert self_test_items("constraints") == SELF_TEST
    for response, reference, expected in SELF_TEST:
        assert grade(response, reference).correct is expected


@pytest.mark.slow
def test_it_grades_in_a_process_of_the_pool():
    pool = KillablePool(1, timeout_s=10, correct_threshold=1.0)
    try:
        futures = [
            pool.submit(ScoreRequest(reward="constraints", response=response, reference=reference))
            for response, reference, _ in SELF_TEST
        ]
        outcomes = [future.result(timeout=60) for future in futures]
    finally:
        pool.close()
    assert [outcome.correct for outcome in outcomes] == [item[2] for item in SELF_TEST]
    assert all(outcome.is_valid for outcome in outcomes)


def test_both_readings_come_from_one_grading():
    text = "Sure, here it is:\nA lantern."
    outcome = grade(text, row(NO_COMMA, LANTERN), compat="ifeval", both_readings=True)
    assert outcome.detail["verdicts"] == [False, True]
    assert outcome.detail["loose_verdicts"] == [True, True]
    assert not outcome.correct
    assert "loose_verdicts" not in grade(text, row(NO_COMMA), compat="ifeval").detail


def test_the_official_rules_can_be_held_against_the_answer_alone():
    text = "<think>Yes, well.</think>\n\nA lantern."
    assert not grade(text, row(NO_COMMA), compat="ifeval").correct
    assert grade(text, row(NO_COMMA), compat="ifeval", after_thinking=True).correct
    unfinished = "<think>A lantern"
    assert not grade(unfinished, row(LANTERN), compat="ifeval", after_thinking=True).correct
    plain = "\n A lantern."  # without any thinking the response is graded as it is
    for name in ("ifeval", "ifbench"):
        assert grade(plain, row(LANTERN), compat=name, after_thinking=True) == grade(
            plain, row(LANTERN), compat=name
        )
