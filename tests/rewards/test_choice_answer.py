"""The stem reward: labelled answers, rows that can't be used, hostile texts, single facts."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewards import choice_answer
from rewards.choice_answer import check_reference, grade
from rewards.choices import chemistry
from rewards.choices.quantities import read_quantity
from rewards.choices.si_units import known_unit, read_unit
from rewards.killable_pool import KillablePool
from rewards.registry import resolve
from rewards.types import ScoreRequest

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("choice_cases.jsonl").read_text("utf-8").splitlines()
]
ORGANELLES = {"A": "mitochondrion", "B": "ribosome", "C": "chloroplast", "D": "nucleus"}
STEADY = settings(deadline=None, derandomize=True, max_examples=150)


def question(answer, options=ORGANELLES, **more):
    return {"answer": answer, "options": options, **more}


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_labelled_answer_gets_its_verdict(row):
    outcome = grade(row["response"], row["reference"])
    assert outcome.word == ("correct" if row["expected"] else "wrong"), (row, outcome)


@pytest.mark.parametrize(("response", "reference", "expected"), choice_answer.SELF_TEST)
def test_self_test_items_hold(response, reference, expected):
    assert grade(response, reference).correct == expected


def test_the_registry_knows_the_reward():
    assert resolve("stem") is grade


@pytest.mark.parametrize(
    ("response", "reference", "reason"),
    [
        ("Answer: C", question("C"), "option"),
        ("Answer: D", question("C"), "other_option"),
        ("Answer: E", question("C"), "not_an_option"),
        ("Answer: C or D", question("C"), "hedged"),
        ("Answer: C) ribosome", question("C"), "contradiction"),
        ("Answer: C\nWait, C is wrong.", question("C"), "withdrawn"),
        (r"\boxed{A} \boxed{C}", question("C"), "sprayed"),
        ("", question("C"), "no_answer"),
        ("<think>Answer: C", question("C"), "unfinished_thinking"),
        ("Answer: 5 m", "5 m", "equal"),
        ("Answer: 6 m", "5 m", "different"),
    ],
)
def test_the_reason_says_why(response, reference, reason):
    assert grade(response, reference).reason == reason


def test_detail_has_the_answer_and_where_it_was():
    outcome = grade(r"so \boxed{\text{C}}", question("C"))
    assert outcome.detail == {"extracted": r"\text{C}", "source": "box"}
    json.dumps(dict(outcome.detail))


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        (None, "answer"),
        ({}, "answer"),
        ("", "answer"),
        (True, "answer"),
        (float("nan"), "answer"),
        ({"answer": {"x": 1}}, "answer"),
        ({"answer": ["x", "y"]}, "answer"),
        (r"\frac{", "answer"),
        (question("E"), "answer"),
        (question("lysosome"), "answer"),
        (question(2), "answer"),
        (question("C", []), "options"),
        (question("C", "ABCD"), "options"),
        (question("C", ["x"] * 27), "options"),
        (question("A", {"A": "x", "one": "y"}), "options"),
        (question("A", {"A": "x", "a": "y"}), "options"),
        (question("A", {"A": "x", "B": None}), "options.B"),
        (question("A", tolerence=0.1), "did you mean tolerance"),
        ({"answer": "5", "tolerance": -1}, "tolerance"),
        ({"answer": "5", "tolerance": "1%"}, "tolerance"),
        ({"answer": "5", "tolerance": float("nan")}, "tolerance"),
        ({"answer": "5", "unit": 3}, "unit"),
        ({"answer": "5", "unit": "="}, "unit"),
    ],
)
def test_an_unusable_row_names_its_field_and_is_no_wrong_answer(reference, field):
    with pytest.raises(ValueError, match=field):
        check_reference(reference)
    assert grade("Answer: C", reference).reason == "bad_reference"
    assert not grade("", reference).is_valid


def test_options_beside_the_reference_are_refused_not_ignored():
    with pytest.raises(ValueError, match=r"reference\.options"):
        check_reference("C", options=ORGANELLES)
    check_reference(question("C"), level=3, subject="biology")


@pytest.mark.parametrize(
    "reference",
    [
        question("C"),
        question("(C)"),
        question("chloroplast"),
        question("C", list(ORGANELLES.values())),
        question("c"),
        question(["C"]),
        question("C", {key.lower(): text for key, text in ORGANELLES.items()}),
        question("C", [f"{key}) {text}" for key, text in ORGANELLES.items()]),
    ],
)
def test_a_reference_may_name_the_option_in_each_way(reference):
    check_reference(reference)
    assert grade("Answer: C", reference).correct
    assert grade("The answer is the chloroplast.", reference).correct
    assert not grade("Answer: B", reference).correct


def test_options_with_one_text_are_one_answer():
    twice = {"A": "5 m", "B": "6 m", "C": "5 m"}
    assert grade("Answer: 5 m", question("C", twice)).correct
    assert not grade("Answer: 5 m", question("B", twice)).correct


def test_a_value_between_options_is_the_nearest_that_it_rounds_to():
    near = {"A": "9.8 m/s^2", "B": "9.81 m/s^2", "C": "10 m/s^2"}
    assert grade("Answer: 9.81 m/s^2", question("B", near)).correct
    assert not grade("Answer: 9.81 m/s^2", question("A", near)).correct


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("kg m/s^2", "N"),
        (r"\text{J}/(\text{mol}\cdot\text{K})", "J mol^{-1} K^{-1}"),
        ("V A", "W"),
        ("kilojoules per mole", "kJ/mol"),
        ("C/s", "A"),
        ("ohm", "V/A"),
        ("square meters", "m^2"),
        ("eV", "electronvolts"),
        (r"\mu\text{m}", "micrometers"),
        ("Wb", "T m^2"),
        ("mol/L", "M"),
    ],
)
def test_units_that_are_one(first, second):
    ours, theirs = read_quantity(f"3 {first}").unit, read_quantity(f"3 {second}").unit
    assert (ours.factor, ours.dimension) == (theirs.factor, theirs.dimension)


def test_the_case_of_a_prefix_counts():
    assert known_unit("mW").factor * 10**9 == known_unit("MW").factor
    assert read_unit("nonsense words that go on and on") is None


@pytest.mark.parametrize(
    ("text", "is_formula"),
    [
        ("CO", True),
        ("Co", True),
        ("SO4^{2-}", True),
        ("2H2 + O2 -> 2H2O", True),
        ("IV", False),
        ("FCC", False),
        ("No", False),
        ("carbon", False),
        ("Xx2", False),
        ("", False),
    ],
)
def test_what_is_a_chemical_formula(text, is_formula):
    assert chemistry.is_formula(text) == is_formula


def test_a_charge_without_a_caret_has_two_readings():
    assert chemistry.read_formula("Fe3+") & chemistry.read_formula("Fe^{3+}")
    assert chemistry.read_formula("NH4+") & chemistry.read_formula("NH_4^+")
    assert not chemistry.read_formula("Fe^{2+}") & chemistry.read_formula("Fe^{3+}")


PIECES = st.sampled_from(
    ["Answer: ", "The answer is ", "A", "B", " or ", " and ", "not ", "(C)", r"\boxed{", "}", "\n",
     "5", " m/s", "^", "{", "_", "CO", "2-", "$", "**", "option ", " is correct", ".", "\0", "->",
     "1e9", r"\frac", "E. coli", "\u7b54\u6848", "\u9009", "\uff22", "</think>", "=", "\u00b0C"]
)  # fmt: skip
REFERENCES = st.sampled_from(
    [question("C"), question("B", ["5 m/s", "CO", "$x^2$"]), "9.81 m/s^2", "CO", "B", "ribosome"]
)


@pytest.mark.slow
@STEADY
@given(st.text(max_size=300), REFERENCES)
@example("\ud800 Answer: \ud800", "CO")
def test_no_text_makes_grading_raise(text, reference):
    assert grade(text, reference).is_valid
    assert grade(f"Answer: {text}", reference).is_valid


@STEADY
@given(st.lists(PIECES, max_size=30).map("".join), REFERENCES)
def test_no_pieces_of_answers_make_grading_raise(text, reference):
    assert grade(text, reference).is_valid


@STEADY
@given(st.lists(PIECES, max_size=20).map("".join), st.text(max_size=60))
def test_no_reference_makes_grading_raise(answer, option):
    grade("Answer: B", answer)
    grade("Answer: B", {"answer": option, "unit": answer})
    grade("Answer: B", question(answer, [option, answer]))


@STEADY
@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_a_letter_is_right_exactly_if_it_is_the_reference(letter, right):
    for form in ("Answer: {}", r"\boxed{{\text{{({})}}}}", "The answer is **{}**.", "{}"):
        assert grade(form.format(letter), question(right)).correct == (letter == right)


@STEADY
@given(st.integers(1, 9999), st.integers(-6, 6))
def test_a_quantity_is_itself_in_another_unit(digits, power):
    reference = f"{digits}e{power} m"
    assert grade(f"Answer: {digits}e{power + 3} mm", reference).correct
    assert not grade(f"Answer: {digits}e{power + 3} cm", reference).correct


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["{", r"\boxed{", "answer is ", "Answer: A ", "\0", "not A ", "A, ", "\n", "^{", "1"]
)
def test_a_response_of_five_million_characters_is_read_in_the_deployed_path(piece):
    text = piece * (5_000_000 // len(piece)) + "\nAnswer: C"
    pool = KillablePool(num_processes=1, timeout_s=10.0, correct_threshold=1.0)
    outcome = pool.submit(
        ScoreRequest(reward="stem", response=text, reference=question("C"))
    ).result()
    pool.close()
    assert outcome.word == "correct", outcome
