"""Labelled answers: each must get its verdict, and cheap verdicts must be the whole ladder's."""

import json
from pathlib import Path

import pytest

from rewards.math_answer import decide_cheaply, grade

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("math_cases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_labelled_answer_gets_its_verdict(row):
    outcome = grade(row["response"], row["gold"], **row.get("fields", {}))
    assert outcome.word == ("correct" if row["expected"] else "wrong"), (row, outcome)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("5", r"\sin^2 1+\cos^2 1=5"),
        ("1", r"\sin^2 1+\cos^2 1=1"),
        (r"\sin 1", r"\sin 1\%"),
        (r"45^\circ", r"\arctan 1"),
        (r"\sin 1, 2", r"2, \cos 1"),
        ("x>1", r"(\sin^2 1+\cos^2 1,\infty)"),
        (r"\sin x=y", r"2\sin x=2y"),
    ],
)
def test_what_needs_a_probe_is_left_open_not_guessed(reference, answer):
    response = rf"\boxed{{{answer}}}"
    assert decide_cheaply(response, reference) in (None, grade(response, reference))


def test_a_cheap_verdict_is_that_of_the_whole_ladder():
    num_decided = 0
    for row in ROWS:
        cheap = decide_cheaply(row["response"], row["gold"], **row.get("fields", {}))
        if cheap is not None:
            num_decided += 1
            assert cheap.word == ("correct" if row["expected"] else "wrong"), (row, cheap)
    assert num_decided > 0.8 * len(ROWS)
