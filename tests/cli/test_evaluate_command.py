"""`mgpo evaluate` and `mgpo check` of an evaluation, as far as nothing has to start."""

import json
from pathlib import Path

import pytest

from mgpo.__main__ import main


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    row = {"id": "a", "prompt": "1+1?", "reference": "2"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "sums.yaml").write_text(f"title: Sums\nsources: [{tmp_path}/rows.jsonl]\n")
    path = tmp_path / "evaluate.yaml"
    path.write_text(
        f"stage: evaluate\nrun: {{name: r, dir: {tmp_path}}}\nmodel: org/model\n"
        f"benchmarks: [{tmp_path}/sums.yaml, aime25]\n"
    )
    return path


def test_check_shows_how_problems_are_asked(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    override = "changes.sums={template: boxed.txt, sampling: {samples_per_prompt: 3}}"
    assert main(["check", str(experiment), override]) == 0
    shown = capsys.readouterr().out
    assert "# Sums\n1 problems x 3 samples, reward math, the first:\n1+1?\n\nPlease reason" in shown
    assert "# AIME 2025\nnot looked at: its data is not here yet" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate"], "evaluate needs EXPERIMENT.yaml, --compare RUN_A RUN_B or --verify DIR"),
        (["evaluate", "--verify", "nowhere"], "nowhere is no finished evaluation"),
        (["evaluate", "--compare", "here", "there"], "here is no finished evaluation"),
        (["check", "EXPERIMENT", "server.endpoint=http://x/v1", "server.model=m"], "give either"),
        (["check", "EXPERIMENT", "sampling.top_p=1.5"], "sampling.top_p must be from 0 to 1"),
        (["check", "EXPERIMENT", "server.endpoint=x"], "must start with http"),
    ],
)
def test_mistakes_are_one_line(
    experiment: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    arguments = [str(experiment) if word == "EXPERIMENT" else word for word in arguments]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
