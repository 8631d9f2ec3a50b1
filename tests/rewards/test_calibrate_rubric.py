"""The table that says how far to trust a judge."""

import json
import sys
from pathlib import Path

import pytest
from fake_judge import FakeJudge, completion, honest, response

from rewards import calibrate_rubric
from rewards.rubric import read_rubric

CASES = Path(__file__).parents[1] / "data" / "rewards" / "rubric_cases.jsonl"
ITEMS = [{"id": "a", "text": "says apple"}, {"id": "b", "text": "says banana"}]


def calibrate(rows, reply, tmp_path, monkeypatch, capsys):
    labelled = tmp_path / "labelled.jsonl"
    labelled.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeJudge(reply) as server:
        settings = {"endpoint": server.endpoint, "model": "m", "input_price": 1e6}
        (tmp_path / "judge.json").write_text(json.dumps(settings))
        monkeypatch.setenv("MGPO_JUDGE", str(tmp_path / "judge.json"))
        monkeypatch.setattr(sys, "argv", ["calibrate_rubric", str(labelled)])
        assert calibrate_rubric.main() == 0
    printed = capsys.readouterr().out.splitlines()
    return {line[:18].strip(): line[18:].strip() for line in printed}


@pytest.mark.slow
def test_agreement_errors_and_cost_are_counted(tmp_path, monkeypatch, capsys):
    def reply(body, number):
        return completion("no") if response(body) == "garbled" else honest(body, number)

    rows = [
        {"response": "an apple", "rubric": ITEMS, "expected": {"a": "yes", "b": "no"}},
        {"response": "apple banana", "rubric": ITEMS, "expected": {"a": "no", "b": "yes"}},
        {"response": "a pear", "rubric": ITEMS[:1], "expected": {"a": "yes"}},
        {"response": "garbled", "rubric": ITEMS, "expected": {"a": "yes", "b": "no"}},
    ]
    table = calibrate(rows, reply, tmp_path, monkeypatch, capsys)
    assert table == {
        "responses": "4",
        "without a verdict": "1 (25.0%), judge_malformed 1",
        "items judged": "5",
        "agreement": "3 (60.0%)",
        "yes against label": "1",
        "label yes, not got": "1",
        "requests": "5",
        "input_tokens": "500",
        "output_tokens": "50",
        "cost": "500",
    }


def test_the_labelled_cases_are_whole():
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    assert len(rows) == 24
    for row in rows:
        assert [item.id for item in read_rubric(row)] == list(row["expected"])
        assert set(row["expected"].values()) <= {"yes", "no", "not_applicable"}
