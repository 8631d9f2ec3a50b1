"""A whole tracker, on disk: JSONL, samples, console, and W&B's own offline files read back."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
import wandb
from fake_runs import make_groups, make_run_config
from wandb_file import history_rows, read_finished_wandb_file, read_wandb_file

from mgpo.config.training import RlConfig
from mgpo.tracking import wandb_run
from mgpo.tracking.metrics import StepMetrics, read_metrics
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.samples import read_samples, samples_path
from mgpo.tracking.tracker import Tracker


def _run_steps(config: RlConfig, steps: Sequence[int], resumed_step: int | None) -> RunDir:
    run_dir = RunDir.open(config)
    tracker = Tracker(run_dir, config, resumed_step, total_steps=config.steps)
    for step in steps:
        log = StepMetrics()
        log.add({"reward/accuracy": step / 10, "loss/policy": float("nan")})
        tracker.write(step, log, make_groups())
    tracker.close()
    run_dir.close()
    return run_dir


def test_resumed_run_has_each_step_once_in_every_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config = make_run_config(tmp_path)
    _run_steps(config, range(1, 9), resumed_step=None)
    run_dir = _run_steps(config, range(6, 8), resumed_step=5)
    assert [record["step"] for record in read_metrics(run_dir.metrics_path)] == list(range(1, 8))
    files = sorted(path.name for path in run_dir.samples_dir.iterdir())
    assert files == [samples_path(run_dir.samples_dir, step).name for step in range(1, 8)]
    assert len(list(read_samples(samples_path(run_dir.samples_dir, 7)))) == 4
    assert "step 7/10  accuracy 0.700" in caplog.text
    assert "step 7/10" in run_dir.log_path.read_text()


def test_offline_wandb_has_config_metrics_on_our_axis_samples_and_one_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "wandb_data"))
    config = make_run_config(tmp_path, wandb="offline")
    _run_steps(config, [1, 2, 3], resumed_step=None)
    run_dir = _run_steps(config, [3, 4], resumed_step=2)

    folders = sorted(run_dir.wandb_dir.glob("offline-run-*"), key=lambda path: path.stat().st_ctime)
    assert len(folders) == 2
    launches = [read_finished_wandb_file(next(folder.glob("run-*.wandb"))) for folder in folders]
    run_id = run_dir.wandb_id_path.read_text().strip()
    for records in launches:
        run = next(record.run for record in records if record.HasField("run"))
        assert (run.run_id, run.project, run.display_name) == (run_id, "mgpo", "run")
        stored = {item.key: json.loads(item.value_json) for item in run.config.update}
        assert stored["data"]["prompts_per_step"] == 4
        assert stored["algorithm"]["gamma"] == 1.0
        metrics = [record.metric for record in records if record.HasField("metric")]
        assert any(metric.glob_name == "*" and metric.step_metric == "step" for metric in metrics)

    first, second = (history_rows(records) for records in launches)
    assert [(row["step"], row["reward/accuracy"]) for row in first] == [
        (1, 0.1),
        (2, 0.2),
        (3, 0.3),
    ]
    assert [(row["step"], row["reward/accuracy"]) for row in second] == [(3, 0.3), (4, 0.4)]
    assert all("time/step_s" in row and "loss/policy" not in row for row in first)

    tables = [json.loads((folders[0] / "files" / row["samples.path"]).read_text()) for row in first]
    assert [len(table["data"]) for table in tables] == [2, 2, 2]
    row = dict(zip(tables[2]["columns"], tables[2]["data"][1], strict=True))
    assert (row["prompt_id"], row["completion"], row["advantage"]) == ("prompt-1", "four", 0.5)


def test_start_without_a_checkpoint_is_another_wandb_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "wandb_data"))
    config = make_run_config(tmp_path, wandb="offline")
    ids = [
        _run_steps(config, [1], resumed_step=None).wandb_id_path.read_text().strip()
        for _ in range(2)
    ]
    assert ids[0] != ids[1]


@pytest.mark.slow
def test_unreachable_wandb_server_is_recorded_offline_under_the_same_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "wandb_data"))
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # nobody listens on `discard`
    monkeypatch.setattr(wandb_run, "_INIT_S", 2.0)
    wandb.teardown()  # W&B reads its environment once per process
    try:
        run_dir = _run_steps(make_run_config(tmp_path, wandb="auto"), [1, 2], resumed_step=None)
    finally:
        wandb.teardown()
    assert "W&B cannot be reached" in caplog.text
    file = next(run_dir.wandb_dir.glob("offline-run-*/run-*.wandb"))
    assert file.stem == f"run-{run_dir.wandb_id_path.read_text().strip()}"
    assert [row["step"] for row in history_rows(read_wandb_file(file))] == [1, 2]
