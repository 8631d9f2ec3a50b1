"""Models that a run exported are found; what no engine reads is refused with the way out."""

import pytest

from mgpo.config.errors import ConfigError
from mgpo.data.saved_models import check_model_folder, exported_models, short_names


@pytest.fixture
def run_dir(tmp_path):
    for step in (20, 100, 3):
        folder = tmp_path / "exports" / f"step_{step:06d}"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"")
    (tmp_path / "exports" / ".writing_step_000200").mkdir()
    (tmp_path / "checkpoints" / "step_000100" / "learner").mkdir(parents=True)
    return tmp_path


def test_exports_come_in_the_order_of_their_steps(run_dir):
    found = exported_models(str(run_dir), None)
    assert short_names(found) == ["step_000003", "step_000020", "step_000100"]
    assert short_names(exported_models(str(run_dir), [100, 3])) == ["step_000003", "step_000100"]
    check_model_folder("models", found[0])


def test_short_names_tell_the_models_apart():
    assert short_names(["/a/sft/final", "/a/rl/final"]) == ["sft/final", "rl/final"]
    assert short_names(["/a/final"]) == ["final"]


@pytest.mark.parametrize(
    ("path", "steps", "message"),
    [
        ("", [3, 4], r"no model of the steps \[4\] in exports/, which holds \[3, 20, 100\]"),
        ("nothing", None, "nothing: no such folder"),
        ("exports", None, "has no models in exports/ .* checkpoint.export_every=STEPS"),
    ],
)
def test_what_was_not_exported_is_named(run_dir, path, steps, message):
    with pytest.raises(ConfigError, match=message):
        exported_models(str(run_dir / path), steps)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("checkpoints/step_000100", "is a sharded checkpoint, .*checkpoint.export_every=STEPS"),
        ("checkpoints", r"is no model in Hugging Face format \(config.json and \*.safetensors\)"),
        ("nothing", "no such folder"),
    ],
)
def test_a_folder_without_a_model_is_refused(run_dir, path, message):
    with pytest.raises(ConfigError, match=f"student .*{path}: {message}"):
        check_model_folder("student", str(run_dir / path))
