"""The models that a run has saved, in the form that engines and merges take."""

from collections.abc import Sequence
from pathlib import Path

from mgpo.config.errors import ConfigError

_PREFIX = "step_"


def exported_models(run_dir: str, steps: Sequence[int] | None) -> list[str]:
    """Return the models of a run in Hugging Face format, oldest first; `steps` None: all.

    Raises ConfigError if there are none, or one of the steps was not exported.
    """
    folder = Path(run_dir)
    if not folder.is_dir():
        raise ConfigError(f"run_dir {run_dir}: no such folder")
    found = {
        int(path.name.removeprefix(_PREFIX)): path
        for path in sorted((folder / "exports").glob(f"{_PREFIX}*"))
    }
    if not found:
        num_sharded = len(list((folder / "checkpoints").glob(f"{_PREFIX}*")))
        raise ConfigError(
            f"run_dir {run_dir}: has no models in exports/ (and {num_sharded} sharded checkpoints, "
            "which no engine reads); train with checkpoint.export_every=STEPS, which writes "
            "exports/step_*, or name folders in Hugging Face format by models"
        )
    missing = [step for step in steps or () if step not in found]
    if missing:
        raise ConfigError(
            f"run_dir {run_dir}: no model of the steps {missing} in exports/, which holds "
            f"{sorted(found)}; set checkpoints to some of these"
        )
    return [str(found[step]) for step in sorted(found) if steps is None or step in steps]


def check_model_folder(key: str, path: str) -> None:
    """Raise ConfigError unless a folder holds a model in Hugging Face format."""
    folder = Path(path)
    if not folder.is_dir():
        raise ConfigError(f"{key} {path}: no such folder")
    if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
        return
    if (folder / "learner").is_dir():
        raise ConfigError(
            f"{key} {path}: is a sharded checkpoint, which no engine reads; train with "
            "checkpoint.export_every=STEPS, which writes exports/step_*, or take the run's final/"
        )
    raise ConfigError(
        f"{key} {path}: is no model in Hugging Face format (config.json and *.safetensors)"
    )


def short_names(paths: Sequence[str]) -> list[str]:
    """Return the ends of the paths that tell them apart: step_000010, or sft/final."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(len(each) for each in parts) + 1):
        names = ["/".join(each[-length:]) for each in parts]
        if len(set(names)) == len(names):
            break
    return names
