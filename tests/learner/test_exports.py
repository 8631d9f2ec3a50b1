"""Models of a run in Hugging Face format, at an interval."""

from mgpo.config.checkpoint import CheckpointConfig
from mgpo.learner.checkpoint import TrainState
from mgpo.learner.exports import ModelExports


def write_model(folder):
    (folder / "config.json").write_text("{}")


def test_every_kth_step_is_kept(tmp_path):
    exports = ModelExports(tmp_path / "exports", CheckpointConfig(export_every=3, keep_last=1))
    for step in range(1, 11):
        exports.write_if_due(TrainState(step=step), write_model)
    names = ["step_000003", "step_000006", "step_000009"]
    assert sorted(path.name for path in (tmp_path / "exports").iterdir()) == names
    assert (tmp_path / "exports" / names[0] / "config.json").is_file()


def test_nothing_is_written_by_default(tmp_path):
    ModelExports(tmp_path / "exports", CheckpointConfig()).write_if_due(
        TrainState(step=10), write_model
    )
    assert not (tmp_path / "exports").exists()


def test_a_step_that_runs_again_replaces_its_model_and_half_ones_are_cleared(tmp_path):
    (tmp_path / ".writing_step_000004").mkdir()
    (tmp_path / "step_000002").mkdir()
    (tmp_path / "step_000002" / "stale").touch()
    exports = ModelExports(tmp_path, CheckpointConfig(export_every=2))
    exports.write_if_due(TrainState(step=2), write_model)
    assert [path.name for path in tmp_path.iterdir()] == ["step_000002"]
    assert [path.name for path in (tmp_path / "step_000002").iterdir()] == ["config.json"]
