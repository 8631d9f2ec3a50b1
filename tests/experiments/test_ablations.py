"""The ablations' report on made-up runs with known answers, and their settings."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from mgpo.config.load import load_config

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "ablations"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield [importlib.import_module(name) for name in ("matrix", "report")]
    for name in ("matrix", "report", "run"):
        sys.modules.pop(name, None)


def write_run(folder, accuracies, tokens_per_step):
    """Evaluations at steps 0, 2, 4, ...; so many tokens at each step."""
    folder.mkdir(parents=True)
    (folder / "final").mkdir()
    records = [{"step": 0, "eval/accuracy": accuracies[0], "eval/completion_tokens_mean": 10.0}]
    for index, accuracy in enumerate(accuracies[1:]):
        records.append({"step": 2 * index + 1, "rollout/tokens": tokens_per_step})
        records.append(
            {
                "step": 2 * index + 2,
                "rollout/tokens": tokens_per_step,
                "eval/accuracy": accuracy,
                "eval/completion_tokens_mean": 10.0,
            }
        )
    (folder / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))


def test_values_are_compared_after_equally_many_tokens(modules):
    _, report = modules
    records = [
        {"eval/accuracy": 0.2},
        {"rollout/tokens": 30.0},
        {"rollout/tokens": 70.0, "eval/accuracy": 0.4},
        {"rollout/tokens": 100.0, "eval/accuracy": 0.8},
    ]
    points = report.over_tokens(records, "eval/accuracy")
    assert points == [(0.0, 0.2), (100.0, 0.4), (200.0, 0.8)]
    assert [report.at_tokens(points, each) for each in (0, 50, 100, 150, 200)] == pytest.approx(
        [0.2, 0.3, 0.4, 0.6, 0.8]
    )


def test_the_page_tells_paired_differences_over_seeds(modules, monkeypatch, tmp_path):
    matrix, report = modules
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ablations.md").write_text((ROOT / "docs" / "ablations.md").read_text())
    for seed, gains in enumerate([(0.10, 0.14), (0.20, 0.22), (0.30, 0.36)]):
        # gamma 0 samples twice the tokens: the comparison is halfway along its line.
        write_run(matrix.RUNS / f"gamma_0_seed{seed}", [0.3, 0.3 + 2 * gains[0]], 100.0)
        write_run(matrix.RUNS / f"gamma_1_seed{seed}", [0.3, 0.3 + gains[1]], 50.0)
    write_run(matrix.RUNS / "gamma_1_seed3", [0.3, 0.9], 50.0)  # its pair is not there
    report.main()
    page = (tmp_path / "docs" / "ablations.md").read_text()
    assert "**gamma**: 3 seeds, compared after 100 sampled tokens." in page
    # Differences 4, 2 and 6 points: 4 +- 4.3027 * 2 / sqrt(3).
    assert "| 1 | 54.0 " in page
    assert "| +4.0 (-1.0 to +9.0) |" in page
    assert "**length**: not run yet." in page
    assert page.count(report.BEGIN) == page.count(report.END) == 1
    assert "gamma 1" in (tmp_path / "docs" / "ablation_gamma.svg").read_text()


def test_runs_are_made_seed_by_seed_and_done_ones_are_known(modules, monkeypatch, tmp_path):
    matrix, _ = modules
    monkeypatch.chdir(tmp_path)
    runs = list(matrix.runs_of("gamma", [0, 1]))
    assert [(run.value, run.seed) for run in runs] == [
        (gamma, seed) for seed in (0, 1) for gamma in matrix.GAMMAS
    ]
    (runs[0].folder / "final").mkdir(parents=True)
    assert [run.is_done for run in runs[:2]] == [True, False]


def test_what_the_pipeline_has_not_made_is_named(modules, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", "--questions", "merge"])
    (tmp_path / "runs/tiny_pipeline/sft_broad/final").mkdir(parents=True)
    with pytest.raises(SystemExit) as stop:
        importlib.import_module("run").main()
    assert "runs/tiny_pipeline/merge_broad" in str(stop.value.code)
    assert "sft_broad" not in str(stop.value.code)


@pytest.mark.parametrize("question", ["gamma", "length", "merge"])
def test_settings_are_what_the_commands_take(modules, question):
    matrix, _ = modules
    for run in matrix.runs_of(question, [3]):
        stage, path, *overrides = run.command()
        config = load_config(path, overrides, stage)
        assert config.run.seed == 3
        assert config.run.path.name == run.name
        if question == "gamma":
            assert config.algorithm.gamma == float(run.value)
        if question == "length":
            assert config.length_reward.lambda_ == (0.2 if run.value == "on" else 0)
