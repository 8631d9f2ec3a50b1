"""`mgpo decontaminate`: kept rows as they were, every drop in the report, or one clear line."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from mgpo.__main__ import main

PROBLEM = "Every morning Aya goes for a nine kilometer walk and stops at a coffee shop"
TEN = "every morning aya goes for a nine kilometer walk and"
EVALUATION = {"id": "aime-1", "problem": PROBLEM, "answer": "204"}


@dataclass
class _Result:
    code: int
    kept: bytes | None
    drops: list[Any] | None
    out: str
    err: str


Decontaminate = Callable[..., _Result]


@pytest.fixture
def decontaminate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Decontaminate:
    monkeypatch.chdir(tmp_path)

    def run(*more: str, train: str = "train.jsonl", against: str = "aime.jsonl") -> _Result:
        arguments = ["--train", *train.split(), "--against", *against.split()]
        try:
            code = main(["decontaminate", *arguments, "--output", "kept.jsonl", *more])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        kept, report = Path("kept.jsonl"), Path("kept.jsonl.report.jsonl")
        return _Result(
            code,
            kept.read_bytes() if kept.exists() else None,
            _read(report) if report.exists() else None,
            *capsys.readouterr(),
        )

    return run


def _read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _write(name: str, *rows: Any) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_kept_rows_are_byte_for_byte_in_their_order(decontaminate: Decontaminate) -> None:
    kept = [b'{"prompt":  "caf\\u00e9",  "id": 7}\r\n', '{"prompt": "求"}\n'.encode()]
    dropped = json.dumps({"prompt": PROBLEM}).encode() + b"\n"
    Path("train.jsonl").write_bytes(kept[0] + dropped + b"\n" + kept[1] + b'{"prompt": ""}')
    _write("aime.jsonl", EVALUATION)
    result = decontaminate()
    assert result.code == 0
    assert result.kept == kept[0] + kept[1] + b'{"prompt": ""}\n'
    assert not list(Path().glob("*.unfinished"))


def test_the_report_names_row_ngram_set_and_its_row(decontaminate: Decontaminate) -> None:
    _write("train.jsonl", {"prompt": "x"}, {"prompt": "x", "response": f"So {TEN}", "id": "b"})
    _write("more.jsonl", {"prompt": [{"role": "user", "content": PROBLEM}]})
    _write("aime.jsonl", {"problem": "2+2?"}, EVALUATION)
    _write("hmmt.jsonl", {"question": "What?", "solution": f"{PROBLEM}."})
    _write("clean.jsonl", {"prompt": "Nothing of this is anywhere else in these few files of ours"})
    result = decontaminate(
        train="train.jsonl more.jsonl", against="aime.jsonl hmmt.jsonl clean.jsonl"
    )
    overlaps = [
        {"ngram": TEN, "set": "aime.jsonl", "set_row": 2, "set_id": "aime-1"},
        {"ngram": TEN, "set": "hmmt.jsonl", "set_row": 1, "set_id": None},
    ]
    assert result.drops == [
        {"source": "train.jsonl", "row": 2, "id": "b", "overlaps": overlaps},
        {"source": "more.jsonl", "row": 1, "id": None, "overlaps": overlaps},
    ]
    assert result.out.splitlines() == [
        "3 rows read, 2 dropped (each is in kept.jsonl.report.jsonl), 1 kept in kept.jsonl",
        "aime.jsonl: 2 rows (1 too short to be found), found in 2 rows",
        "hmmt.jsonl: 1 rows, found in 2 rows",
        "clean.jsonl: 1 rows, found in 0 rows",
        f"most frequent: '{TEN}', in 2 dropped rows",
    ]


def test_system_messages_of_an_evaluation_set_are_not_sought(decontaminate: Decontaminate) -> None:
    system = {"role": "system", "content": TEN}
    _write("aime.jsonl", {"prompt": [system, {"role": "user", "content": "2+2?"}]})
    _write("train.jsonl", {"prompt": [system, {"role": "user", "content": "3+3?"}]})
    assert decontaminate().drops == []


def test_fields_and_ngram_are_the_users(decontaminate: Decontaminate) -> None:
    _write("aime.jsonl", {"text": "alpha beta gamma delta", "problem": "one two three four"})
    rows = [{"prompt": "beta gamma delta"}, {"prompt": "two three four"}, {"prompt": "beta gamma"}]
    _write("train.jsonl", *rows)
    result = decontaminate("--fields", "text", "--ngram", "3", "--report", "drops.jsonl")
    assert result.drops is None
    assert [drop["row"] for drop in _read(Path("drops.jsonl"))] == [1]


def test_parquet_is_read_and_its_rows_are_written_as_json(decontaminate: Decontaminate) -> None:
    chat = [{"role": "user", "content": "2+2?"}]
    rows = [{"prompt": chat, "n": 1}, {"prompt": [{"role": "user", "content": TEN}], "n": 2}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "train.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([EVALUATION]), "aime.parquet")
    result = decontaminate(train="train.parquet", against="aime.parquet")
    assert [json.loads(line) for line in (result.kept or b"").splitlines()] == [rows[0]]
    assert [drop["row"] for drop in result.drops or []] == [2]


@pytest.mark.parametrize(
    ("train", "evaluation", "message"),
    [
        ('{"prompt": "x"}\n{bad', json.dumps(EVALUATION), "train.jsonl, line 2: not valid JSON"),
        ('{"prompt": "x"}\n[]', json.dumps(EVALUATION), "line 2: a row is a JSON object, got list"),
        ('{"problem": "x"}', json.dumps(EVALUATION), "train.jsonl, line 1, field prompt: missing"),
        ('{"prompt": 5}', json.dumps(EVALUATION), "line 1, field prompt: must be a string or chat"),
        ('{"prompt": "x", "response": [5]}', json.dumps(EVALUATION), "field response: must be a"),
        ("", json.dumps(EVALUATION), "train.jsonl: has no rows"),
        ('{"prompt": "x"}', "", "aime.jsonl: has no rows"),
        (
            '{"prompt": "x"}',
            '{"text": "x", "answer": "y"}',
            "aime.jsonl, line 1: has none of the fields prompt, problem, question, only text, answ",
        ),
        ('{"prompt": "x"}', '{"prompt": [{"role": "user"}]}', "field prompt: must be a string or"),
    ],
)
def test_a_bad_file_is_one_clear_line_and_loses_nothing(
    decontaminate: Decontaminate, train: str, evaluation: str, message: str
) -> None:
    Path("train.jsonl").write_text(train)
    Path("aime.jsonl").write_text(evaluation)
    Path("kept.jsonl").write_text("of an earlier run")
    result = decontaminate()
    assert (result.code, result.out, result.kept) == (2, "", b"of an earlier run")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert result.drops is None
    assert not list(Path().glob("*.unfinished"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ngram", "0"], "--ngram must be at least 1, got 0"),
        (["--ngram", "ten"], "argument --ngram: invalid int value: 'ten'"),
        (["--output", "kept.parquet"], "--output kept.parquet: must end in .jsonl"),
        (["--output", "train.jsonl"], "--output train.jsonl: is also an input"),
        (["--report", "./aime.jsonl"], "--report aime.jsonl: is also an input"),
        (["--report", "kept.jsonl"], "--report kept.jsonl: is also the output"),
        (["--output", "nowhere/kept.jsonl"], "must be a file in a folder that exists"),
        (["--train", "lost.jsonl"], "lost.jsonl: no such data file"),
        (["--against", "aime.csv"], "aime.csv: data is a .jsonl, .jsonl.gz or .parquet file"),
        (["--train", "folder.jsonl"], "folder.jsonl: no such data file"),
    ],
)
def test_a_wrong_argument_is_one_clear_line(
    decontaminate: Decontaminate, more: list[str], message: str
) -> None:
    _write("train.jsonl", {"prompt": PROBLEM})
    _write("aime.jsonl", EVALUATION)
    Path("folder.jsonl").mkdir()
    before = Path("train.jsonl").read_bytes(), Path("aime.jsonl").read_bytes()
    result = decontaminate(*more)
    assert (result.code, result.kept, result.drops) == (2, None, None)
    assert message in result.err
    assert result.err.count("\n") == 1
    assert (Path("train.jsonl").read_bytes(), Path("aime.jsonl").read_bytes()) == before


def test_a_row_that_json_cannot_hold_is_named(decontaminate: Decontaminate) -> None:
    table = pyarrow.table({"prompt": ["x"], "raw": pyarrow.array([b"\xff"])})
    pyarrow.parquet.write_table(table, "train.parquet")
    _write("aime.jsonl", EVALUATION)
    result = decontaminate(train="train.parquet")
    assert result.code == 2
    assert "train.parquet, row 1: cannot be written as JSON" in result.err
