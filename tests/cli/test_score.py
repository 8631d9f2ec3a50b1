"""`mgpo score`: rows in, outcomes out, in order, or one clear line."""

import json

import pytest

from mgpo.__main__ import main

pytestmark = pytest.mark.slow


@pytest.fixture
def score(tmp_path, capsys):
    def run(rows, reward, *more):
        source, output = tmp_path / "rows.jsonl", tmp_path / "outcomes.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        code = main(
            ["score", "--reward", reward, "--input", str(source), "--output", str(output), *more]
        )
        written = output.read_text().splitlines() if output.exists() else []
        return code, [json.loads(line) for line in written], capsys.readouterr()

    return run


def _row(name, response, **fields):
    return {"id": name, "response": response, "reference": None, **fields}


def test_outcomes_come_in_the_order_of_the_rows(score):
    rows = [_row(str(n), str(0.1 * (5 - n))) for n in range(5)]
    code, written, said = score(rows, "fake_graders.slow", "--workers", "3")
    assert code == 0
    assert [row["id"] for row in written] == ["0", "1", "2", "3", "4"]
    assert {row["outcome"] for row in written} == {"correct"}
    assert written[0]["time_s"] > 0.4
    assert said.out == "5 responses by reward fake_graders.slow: 5 correct, 0 wrong, 0 error\n"


def test_a_fault_of_a_grader_is_an_error_and_no_wrong_answer(score):
    code, written, _ = score([_row("a", "x")], "fake_graders.raising")
    assert (code, written[0]["outcome"], written[0]["reason"]) == (0, "error", "exception")


def test_options_reach_the_rows_that_have_none(score):
    rows = [_row("own", "", level=3), _row("none", "")]
    code, written, _ = score(rows, "fake_graders.echo_fields", "--set", "level=7")
    assert code == 0
    assert [row["outcome"] for row in written] == ["wrong", "correct"]


@pytest.mark.parametrize(
    ("row", "reward", "more", "message"),
    [
        ({"reference": "5"}, "math", (), "line 1, field response: must be a string, got None"),
        ({"response": "5"}, "math", (), "line 1, field reference: missing"),
        (_row("a", "5"), "maths", (), "did you mean math?"),
        (_row("a", "5"), "code", (), "line 1, field reference: the reference of code"),
        (_row("a", "5"), "math", ("--set", "level"), "--set takes key=value, got 'level'"),
        (_row("a", "5"), "math", ("--workers", "0"), "must be at least 1, got 0"),
        (_row("a", "wrong"), "fake_graders.liar", (), "fails its self-test"),
    ],
)
def test_a_mistake_is_one_clear_line_and_writes_nothing(score, row, reward, more, message):
    code, written, said = score([row], reward, *more)
    assert (code, written) == (2, [])
    assert message in said.err
    assert said.err.count("\n") == 1
