"""What is known of a step: what it was made from, when it was done, and whether that still
holds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from mgpo.config.errors import UserError
from mgpo.config.keys import flatten, is_below
from mgpo.pipeline.steps import Step, maker_of
from mgpo.tracking.code_version import code_version
from mgpo.tracking.files import write_atomically
from mgpo.tracking.provenance import describe_model, hash_files, package_versions

_FREE_KEYS = ("run.resume", "run.device", "tracking")
"""What does not change a result."""
_ABSENT = "(absent)"
_REDO_FILE = "redo.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """One step as it was run; a JSON file of the pipeline's folder."""

    step: str
    stage: str
    config: Mapping[str, Any]
    """Dotted key -> value, without what does not change a result."""
    inputs: Mapping[str, Mapping[str, str]]
    """Key -> file name -> SHA-256; empty for what is not a file or folder here."""
    parents: Mapping[str, str]
    """Key -> name of the step that made the input."""
    started_at: str
    finished_at: str | None = None
    """None: it has not ended well yet."""
    seconds: float = 0.0
    """Of the launch that ended well."""
    summary: str = ""
    """What the stage printed at its end."""
    artifacts: Mapping[str, str] | None = None
    """Name -> path of what it made."""
    versions: Mapping[str, str | None] | None = None
    code: Mapping[str, Any] | None = None


def describe_step(step: Step, steps: Sequence[Step]) -> StepRecord:
    """Return the record of a step that starts now: its inputs are hashed as they are."""
    earlier = steps[: steps.index(step)]
    makers = {key: maker_of(source, earlier) for key, source in step.inputs.items()}
    models = step.config.model_sources()
    return StepRecord(
        step=step.name,
        stage=step.stage,
        config=_relevant(step),
        inputs={
            key: _hashes(source, is_model=key in models) for key, source in step.inputs.items()
        },
        parents={key: maker.name for key, maker in makers.items() if maker is not None},
        started_at=_now(),
        artifacts={name: str(path) for name, path in step.config.artifacts().items()},
        versions=package_versions(),
        code=asdict(code_version()),
    )


def differences(old: StepRecord, new: StepRecord) -> list[str]:
    """Return what of a step's configuration and inputs is not as it was, in words."""
    keys = sorted(old.config.keys() | new.config.keys())
    changed = [
        f"{key}: {old.config.get(key, _ABSENT)!r} -> {new.config.get(key, _ABSENT)!r}"
        for key in keys
        if old.config.get(key, _ABSENT) != new.config.get(key, _ABSENT)
    ]
    for key in sorted(old.inputs.keys() | new.inputs.keys()):
        before, files = old.inputs.get(key, {}), new.inputs.get(key, {})
        names = [
            name for name in sorted(files.keys() | before) if files.get(name) != before.get(name)
        ]
        if names:
            changed.append(f"content of {key} ({', '.join(names)})")
    return changed


class Records:
    """The records of a pipeline, a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, step: Step) -> StepRecord | None:
        """Return what is known of a step; None: it was never started."""
        path = self._path(step)
        if not path.is_file():
            return None
        try:
            return StepRecord(**json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise UserError(
                f"{path}: not a record that this version can read ({error}); remove it to run "
                f"{step.name} again"
            ) from error

    def write(self, step: Step, record: StepRecord) -> None:
        """Replace what is known of a step."""
        write_atomically(self._path(step), json.dumps(asdict(record), indent=1) + "\n")

    def pending(self) -> list[str]:
        """Return the steps of a --redo that has not come to the pipeline's end yet."""
        path = self.folder / _REDO_FILE
        names: list[str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return names

    def set_pending(self, names: Sequence[str]) -> None:
        """Remember the steps of a --redo; none: it is through."""
        write_atomically(self.folder / _REDO_FILE, json.dumps(list(names)))

    def _path(self, step: Step) -> Path:
        return self.folder / f"{step.name}.json"


def _hashes(source: str, *, is_model: bool) -> Mapping[str, str]:
    """Hash a file, a model or every file of a folder. What the hub has is not hashed: it is not
    here before the stage has run."""
    if not Path(source).exists():
        return {}
    if is_model and (Path(source) / "config.json").is_file():
        hashes: Mapping[str, str] = describe_model(source)["sha256"]
        return hashes
    return hash_files(Path(source))


def finished_at() -> str:
    """Return the time as records have it."""
    return _now()


def _relevant(step: Step) -> dict[str, Any]:
    values = flatten(OmegaConf.to_container(OmegaConf.structured(step.config)))
    return {key: value for key, value in values.items() if not is_below(key, _FREE_KEYS)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
