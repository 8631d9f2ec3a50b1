"""`mgpo filter`: kept rows as they came, every drop with its reason, and no work done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fakes
import pyarrow
import pyarrow.parquet
import pytest
import yaml
from command_runs import environment

from mgpo.__main__ import main
from mgpo.config.data import RowsConfig
from mgpo.data.prior_accuracy import check_prior_accuracy
from mgpo.data.rows import load_rows

WALK = "Every morning Aya goes for a nine kilometer walk and stops at a coffee shop"
COMMAND = (sys.executable, "-m", "mgpo", "filter")
OUTPUTS = ("rows.jsonl", "dropped.jsonl", "report.json")

Filter = Callable[..., int]


@pytest.fixture
def run_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Filter:
    monkeypatch.chdir(tmp_path)

    def run(filters: Mapping[str, Any], *overrides: str, **sections: Any) -> int:
        experiment = {
            "run": {"name": "f", "dir": "runs"},
            "data": {"sources": ["rows.jsonl"]},
            "filters": filters,
            **sections,
        }
        Path("f.yaml").write_text(yaml.safe_dump(experiment))
        return main(["filter", "f.yaml", *overrides])

    return run


def write(name: str, *rows: Mapping[str, Any]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("runs/f", name).read_text().splitlines()]


def drops() -> list[tuple[str, str, str]]:
    return [(drop["id"], drop["filter"], drop["reason"]) for drop in read("dropped.jsonl")]


def test_untouched_rows_stay_as_they_are_and_every_drop_is_listed(run_filter: Filter) -> None:
    kept = [b'{"prompt":  "caf\\u00e9",  "id": 7}\r\n', '{"prompt": "求", "id": "x"}'.encode()]
    loop = json.dumps({"prompt": "p", "id": "b", "response": "I think so. " * 100}).encode()
    Path("rows.jsonl").write_bytes(kept[0] + b"\n" + loop + b"\n" + kept[1])
    write("more.jsonl", {"prompt": WALK, "domain": "chat"}, {"prompt": "CAFÉ ", "id": "d"})
    write("aime.jsonl", {"problem": WALK, "id": "aime-1"})
    filters = {
        "decontaminate": {"against": ["aime.jsonl"]},
        "repetition": {},
        "duplicate_prompts": True,
    }
    assert run_filter(filters, data={"sources": ["rows.jsonl", "more.jsonl"]}) == 0
    assert Path("runs/f/rows.jsonl").read_bytes() == kept[0] + kept[1] + b"\n"
    first, second, third = read("dropped.jsonl")
    assert [first[key] for key in ("source", "row", "id", "domain", "filter", "reason")] == [
        *("rows.jsonl", 3, "b", "math", "repetition", "loop"),
    ]
    assert (second["row"], second["id"], second["domain"]) == (1, "more-1", "chat")
    assert second["detail"]["overlaps"][0]["set_id"] == "aime-1"
    assert (third["filter"], third["detail"]["same_as"]) == ("duplicate_prompts", "7")
    assert json.loads(Path("runs/f/report.json").read_text()) == {
        "in": {"chat": 1, "math": 4},
        "filters": [
            {"name": "repetition", "dropped": {"math": {"loop": 1}}, "untouched": {}},
            {
                "name": "duplicate_prompts",
                "dropped": {"math": {"duplicate_prompt": 1}},
                "untouched": {},
            },
            {"name": "decontaminate", "dropped": {"chat": {"contaminated": 1}}, "untouched": {}},
        ],
        "kept": {"math": 2},
    }
    assert not list(Path("runs/f").glob("**/*.unfinished"))
    assert not list(Path("runs/f/filters").glob("input*"))


def test_a_row_is_dropped_by_the_first_filter_of_the_given_order(run_filter: Filter) -> None:
    write("rows.jsonl", {"prompt": "a"}, {"prompt": "a", "response": "no no " * 100})
    filters = {"repetition": {}, "duplicate_prompts": True}
    assert run_filter(filters) == 0
    assert drops() == [("rows-2", "repetition", "loop")]
    order = ["duplicate_prompts", "repetition"]
    assert run_filter({**filters, "order": order}, run={"name": "f", "dir": "b"}) == 0
    assert '"filter": "duplicate_prompts"' in Path("b/f/dropped.jsonl").read_text()


def test_mapped_columns_are_filtered_and_the_layout_stays(run_filter: Filter) -> None:
    table = [{"question": "1+1", "answer": "2", "accuracy": 0.125}, {"question": "2+2"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), "rows.parquet")
    columns = {"prompt": "question", "reference": "answer"}
    hard = {"min_error_rate": 0.75, "min_response_tokens": None}
    filters = {"hard_rows": hard, "strata": {"num_lengths": 1}}
    data = {"sources": ["rows.parquet"], "columns": columns}
    assert run_filter(filters, data=data) == 0
    strata = {"length_stratum": -1, "difficulty_stratum": 3}
    # The second row has no reference: nobody could have measured its accuracy.
    assert read("rows.jsonl") == [
        {**table[0], **strata},
        {**table[1], "answer": None, "accuracy": None, **strata, "difficulty_stratum": -1},
    ]


def test_an_answer_at_the_end_of_a_chat_is_the_response(run_filter: Filter) -> None:
    ask = {"role": "user", "content": "2+2?"}
    chats = [[ask, {"role": "assistant", "content": text}] for text in ("It is four.", "no " * 200)]
    write("rows.jsonl", *({"id": f"r{i}", "prompt": chat} for i, chat in enumerate(chats)))
    assert run_filter({"repetition": {}}) == 0
    assert read("rows.jsonl") == [{"id": "r0", "prompt": chats[0]}]


def test_stage_two_keeps_hard_and_long_rows(run_filter: Filter, tmp_path: Path) -> None:
    fakes.make_tokenizer(tmp_path / "model")  # a token per byte
    write(
        "rows.jsonl",
        {"id": "hard", "prompt": "a", "reference": "1", "accuracy": 0.25, "response": "x" * 50},
        {"id": "easy", "prompt": "b", "reference": "1", "accuracy": 0.375, "response": "x" * 50},
        {"id": "short", "prompt": "c", "reference": "1", "accuracy": 0.25, "response": "x" * 49},
        {"id": "chat", "prompt": "d", "domain": "chat", "response": "x" * 50},
        {"id": "unknown", "prompt": "e", "reference": "1", "response": "x" * 50},
    )
    filters = {"hard_rows": {"min_response_tokens": 50}}
    (tmp_path / "model" / "config.json").write_text("{}")
    assert run_filter(filters, tokenizer="model") == 0
    assert [row["id"] for row in read("rows.jsonl")] == ["hard", "chat"]
    assert drops() == [
        ("easy", "hard_rows", "easy_prompt"),
        ("short", "hard_rows", "few_tokens"),
        ("unknown", "hard_rows", "accuracy_unknown"),
    ]


def test_finished_filters_are_not_applied_again(run_filter: Filter) -> None:
    write("rows.jsonl", *({"id": f"r{i}", "prompt": f"say {i % 3}"} for i in range(6)))
    filters = {"duplicate_prompts": True, "strata": {"num_rows": 2}}
    assert run_filter(filters) == 0
    whole = [Path("runs/f", name).read_bytes() for name in OUTPUTS]
    # A run that was killed in its second filter, whose first filter had said something else.
    for name in OUTPUTS:
        Path("runs/f", name).unlink()
    Path("runs/f/filters/02_strata.jsonl").rename("runs/f/filters/.02_strata.jsonl.unfinished")
    first = Path("runs/f/filters/01_duplicate_prompts.jsonl")
    first.write_text(first.read_text().replace("duplicate_prompt", "as_it_was"))
    assert run_filter(filters) == 0
    assert {reason for _, name, reason in drops() if name == "duplicate_prompts"} == {"as_it_was"}
    assert Path("runs/f/rows.jsonl").read_bytes() == whole[0]


@pytest.mark.parametrize(
    ("rows", "filters", "message"),
    [
        ('{"prompt": "a", "id": 1}\n{"prompt": "b", "id": "1"}', {"response": {}}, "line 2, fiel"),
        ('{"prompt": 5}', {"response": {}}, "rows.jsonl, line 1, field prompt: must be a string"),
        ('{"prompt": "a", "response": 5}', {"response": {}}, "field response: must be a string"),
        ("", {"response": {}}, "rows.jsonl: has no rows"),
        ('{"prompt": "a"}', {"decontaminate": {"against": ["no.jsonl"]}}, "no.jsonl: no such data"),
        ('{"prompt": "a"}', {}, "filters: none is on; switch one on with {}; there are response"),
        (
            '{"prompt": "a"}',
            {"copys": {}},
            "unknown key filters.copys; did you mean filters.copies",
        ),
        ('{"prompt": "a"}', {"copies": {}, "order": ["copys"]}, "filters.order must name each"),
        ('{"prompt": "a"}', {"accuracy": {}}, "missing filters.accuracy.model"),
        ('{"prompt": "a"}', {"accuracy": {"model": "./gone"}}, "gone"),
        (
            '{"prompt": "a"}',
            {"hard_rows": {}},
            "set tokenizer to the model",
        ),
        (
            '{"prompt": "a", "accuracy": 1, "accuracy_n": 8}',
            {"all_or_none": True},
            "filters.all_or_none dropped all 1 rows that were left",
        ),
        (
            '{"prompt": "a", "reference": "1", "reward": "no_such"}',
            {"verify": {}},
            "rows.jsonl, line 1, field reward: unknown reward 'no_such'",
        ),
    ],
)
def test_wrong_input_is_one_clear_line(
    run_filter: Filter,
    capsys: pytest.CaptureFixture[str],
    rows: str,
    filters: Mapping[str, Any],
    message: str,
) -> None:
    Path("rows.jsonl").write_text(rows)
    assert run_filter(filters) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error
    assert not Path("runs/f/rows.jsonl").exists()


def test_a_run_is_not_continued_with_other_filters_or_rows(
    run_filter: Filter, capsys: pytest.CaptureFixture[str]
) -> None:
    write("rows.jsonl", {"prompt": "a"})
    assert run_filter({"response": {}}) == 0
    assert run_filter({"response": {"min_words": 3}}) == 2
    assert "filters.response.min_words: 2 -> 3" in capsys.readouterr().err
    write("rows.jsonl", {"prompt": "b"})
    assert run_filter({"response": {}}) == 2
    assert "rows.jsonl changed since the launch" in capsys.readouterr().err
    # Nor when it was killed as soon as it had copied the rows.
    for path in (*Path("runs/f/filters").iterdir(), *map(Path("runs/f").joinpath, OUTPUTS)):
        path.unlink()
    Path("runs/f/filters/input.index.npz").touch()
    assert run_filter({"response": {}}) == 2
    assert "rows.jsonl changed since the launch" in capsys.readouterr().err


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_responses_are_verified_and_those_without_a_verifier_counted(run_filter: Filter) -> None:
    write(
        "rows.jsonl",
        {"id": "right", "prompt": "1+1?", "reference": "2", "response": r"\boxed{2}"},
        {"id": "wrong", "prompt": "1+1?", "reference": "2", "response": r"\boxed{3}"},
        {"id": "chat", "prompt": "hello", "domain": "chat", "response": "hi"},
        {"id": "prompt", "prompt": "1+1?", "reference": "2"},
    )
    assert run_filter({"verify": {}}, reward={"processes_per_worker": 1}) == 0
    assert [row["id"] for row in read("rows.jsonl")] == ["right", "chat", "prompt"]
    assert drops() == [("wrong", "verify", "wrong_response")]
    (report,) = json.loads(Path("runs/f/report.json").read_text())["filters"]
    assert report["untouched"] == {"no_response": 1, "no_verifier": 1}


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_failed_gradings_stop_the_filter_and_are_made_up_for(
    run_filter: Filter, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"prompt": "a", "reference": "x", "reward": "fake_graders.raising", "response": "b"}
    write("rows.jsonl", row)
    reward = {"processes_per_worker": 1, "max_error_rate": 1.0}
    assert run_filter({"verify": {}}, reward=reward) == 2
    assert "1 of 1 responses have no verdict" in capsys.readouterr().err
    verdicts = Path("runs/f/samples/verify.jsonl")
    assert json.loads(verdicts.read_text())[:2] == [0, "error"]
    # The same command grades again; here a verdict that another launch has reached.
    verdicts.write_text('[0, "correct", "", {}]\n')
    assert run_filter({"verify": {}}, reward=reward) == 0
    assert len(read("rows.jsonl")) == 1


def accuracy_experiment(folder: Path) -> Path:
    """Rows that a random model solves sometimes, two traces of each prompt, and chat."""
    fakes.make_model(folder / "model", seed=2, head_dim=8)
    task = {"reference": "none", "reward": "fake_rewards.even_length", "domain": "math"}
    rows = [
        {"id": f"r{i}", "prompt": f"say {i // 2}", "response": f"trace {i}", **task}
        for i in range(16)
    ]
    chat = {"id": "chat", "prompt": "hello", "domain": "chat", "response": "hello to you"}
    lines = "".join(json.dumps(row) + "\n" for row in (*rows, chat))
    (folder / "rows.jsonl").write_text(lines)
    (folder / "f.yaml").write_text(
        f"""
stage: filter
run: {{name: f, dir: {folder}/runs}}
data: {{sources: [{folder}/rows.jsonl]}}
dtype: float32
rollout: {{engine: hf, max_batch_samples: 4}}
reward: {{processes_per_worker: 1}}
filters:
  response: {{}}
  copies: {{}}
  verify: {{}}
  accuracy: {{model: {folder}/model, samples_per_prompt: 4, max_completion_tokens: 120}}
  strata: {{num_lengths: 1}}
"""
    )
    return folder / "f.yaml"


@pytest.mark.ray
@pytest.mark.slow
def test_a_run_killed_in_the_middle_ends_with_the_same_bytes(tmp_path: Path) -> None:
    experiment = accuracy_experiment(tmp_path)
    FilterRun(experiment, "whole").wait_for_success()
    whole = tmp_path / "runs" / "whole"
    rows = [json.loads(line) for line in (whole / "rows.jsonl").read_text().splitlines()]
    measured = [row for row in rows if "accuracy" in row]
    assert measured
    check_prior_accuracy(load_rows(str(write_measured(tmp_path, measured)), RowsConfig()))
    assert {row["accuracy_n"] for row in measured} == {4}
    assert not {row["accuracy"] for row in measured} & {0.0, 1.0}
    by_prompt = {row["prompt"]: row["accuracy"] for row in measured}
    assert all(by_prompt[row["prompt"]] == row["accuracy"] for row in measured)
    assert rows[-1]["id"] == "chat"
    assert "accuracy" not in rows[-1]
    # Traces of one prompt are sampled once; those found wrong take no prompt away by themselves.
    samples = [json.loads(line) for line in (whole / "samples/accuracy.jsonl").open()]
    assert len(samples) == 4 * len({sample["prompt_id"] for sample in samples})

    killed = tmp_path / "runs" / "killed"
    FilterRun(experiment, "killed").kill_when(killed / "samples/accuracy.jsonl", 6)
    done = (killed / "samples/accuracy.jsonl").read_text().splitlines()
    assert 6 <= len(done) < len(samples)
    assert not (killed / "rows.jsonl").exists()
    FilterRun(experiment, "killed", "run.resume=must").wait_for_success()
    for name in OUTPUTS:
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name


def write_measured(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "measured.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class FilterRun:
    """`mgpo filter` in a process of its own."""

    def __init__(self, experiment: Path, name: str, *overrides: str) -> None:
        self._log = (experiment.parent / f"{name}.log").open("w+")
        self._process = subprocess.Popen(
            [*COMMAND, str(experiment), f"run.name={name}", *overrides],
            env=environment(),
            cwd=experiment.parent,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def wait_for_success(self) -> None:
        assert self._process.wait(timeout=300) == 0, self._told()

    def kill_when(self, path: Path, num_lines: int) -> None:
        """Kill -9 as soon as a file has so many lines."""
        deadline = time.monotonic() + 240
        while not (path.is_file() and path.read_bytes().count(b"\n") >= num_lines):
            assert self._process.poll() is None, self._told()
            assert time.monotonic() < deadline, self._told()
            time.sleep(0.01)
        os.kill(self._process.pid, signal.SIGKILL)
        assert self._process.wait(timeout=60) == -signal.SIGKILL

    def _told(self) -> str:
        self._log.seek(0)
        return self._log.read()[-5000:]
