"""`mgpo clr`, `mgpo solve` and `mgpo check` of them, as far as nothing has to start."""

import json
from pathlib import Path

import pytest

from mgpo.__main__ import main


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    row = {"id": "a", "prompt": "1+1?", "reference": "2"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "sums.yaml").write_text(f"title: Sums\nsources: [{tmp_path}/rows.jsonl]\n")
    path = tmp_path / "clr.yaml"
    path.write_text(
        f"stage: clr\nrun: {{name: r, dir: {tmp_path}}}\nmodel: org/model\n"
        f"benchmarks: [{tmp_path}/sums.yaml]\nnum_trajectories: 4\nnum_repeats: 2\n"
    )
    return path


def test_check_shows_how_many_trajectories_are_sampled(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(experiment)]) == 0
    shown = capsys.readouterr().out
    assert "# Sums\n1 problems x 8 samples, reward math, the first:\n1+1?" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["clr", "EXPERIMENT", "templates_dir=nowhere"], "templates_dir nowhere: no such folder"),
        (["check", "EXPERIMENT", "templates_dir=nowhere"], "templates_dir nowhere: no such folder"),
        (["clr", "EXPERIMENT", "from_samples=nowhere"], "nowhere is no finished evaluation"),
        (["clr", "EXPERIMENT", "changes.sums.reward=code"], "has rows of reward 'code'"),
        (
            ["clr", "EXPERIMENT", "changes.sums.sampling.samples_per_prompt=3"],
            "num_trajectories * num_repeats = 8 in `mgpo clr`, got 3: leave it out",
        ),
        (["solve", "1+1?"], "the following arguments are required: --model"),
        (["solve", "--model", "nowhere", "1+1?"], "model.path nowhere: no such folder"),
        (["solve", "--model", "m", "--samples", "0", "1+1?"], "num_trajectories must be at least"),
        (["solve", "--model", "m", "1+1?", "num_tries=3"], "unknown key num_tries"),
    ],
)
def test_mistakes_are_one_line(
    experiment: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    arguments = [str(experiment) if word == "EXPERIMENT" else word for word in arguments]
    try:
        code = main(arguments)
    except SystemExit as error:  # how argparse ends
        code = int(error.code or 0)
    assert code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
