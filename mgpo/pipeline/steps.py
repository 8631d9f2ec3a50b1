"""The steps of a pipeline: the numbered experiment files of a folder, and what each reads and
makes."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgpo.config.errors import ConfigError
from mgpo.config.keys import KeyKind
from mgpo.config.load import known_keys, load_config
from mgpo.config.stage import StageConfig
from mgpo.config.stages import AnyConfig

_STEP_FILE = re.compile(r"(?P<number>\d+)_(?P<title>.+)\.yaml")
_HUB_SOURCE = re.compile(r"[\w-][\w.-]*/[\w.-]+(@[^:@]+)?(:[^:@]+)?")
_FILE_SUFFIX = re.compile(r"\.[A-Za-z]\w*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One experiment file with its place in the order."""

    name: str
    """The file's name without .yaml, such as 03_merge."""
    path: Path
    config: AnyConfig
    overrides: tuple[str, ...]
    """Those of the command that this stage has the keys of."""

    @property
    def stage(self) -> str:
        """Its command."""
        return self.config.stage

    @property
    def inputs(self) -> Mapping[str, str]:
        """Data and models it reads, by the key that names each."""
        return {**self.config.data_sources(), **self.config.model_sources()}

    def makes(self, source: str) -> bool:
        """Whether a path is one of the step's artifacts, or lies in one or in the step's
        folder. A link that it made counts as its own, wherever it leads."""
        paths = (Path(source).resolve(), Path(os.path.abspath(source)))
        return any(place in (path, *path.parents) for path in paths for place in self.places)

    @property
    def places(self) -> list[Path]:
        """Where the step writes."""
        artifacts = list(self.config.artifacts().values())
        own = [self.config.run.path] if isinstance(self.config, StageConfig) else []
        return [*own, *artifacts]

    def is_called(self, name: str) -> bool:
        """Whether a name means this step: its number, its title, or both."""
        match = _STEP_FILE.fullmatch(self.path.name)
        assert match is not None
        number, title = match["number"], match["title"]
        return name in (self.name, title) or (name.isdigit() and int(name) == int(number))


def load_steps(folder: Path, overrides: Sequence[str]) -> list[Step]:
    """Return the steps of a folder in the order of their numbers, each checked by itself and
    against the others; nothing is started.

    Raises ConfigError for a folder without steps, an override that no step has, two steps that
    write to one place, or an input that neither exists nor is made by an earlier step.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: no such folder; a pipeline is a folder of numbered YAML files"
        )
    found = {path: match for path in folder.iterdir() if (match := _STEP_FILE.fullmatch(path.name))}
    for path in folder.glob("[0-9]*.y*ml"):
        if path not in found:
            raise ConfigError(f"{path}: a step is named NUMBER_TITLE.yaml; rename it")
    paths = sorted(found, key=lambda path: int(found[path]["number"]))
    if not paths:
        raise ConfigError(f"{folder}: has no steps; a step is a file such as 01_sft.yaml")
    numbers = [int(found[path]["number"]) for path in paths]
    for path, number in zip(paths, numbers, strict=True):
        if numbers.count(number) > 1:
            raise ConfigError(f"{path}: number {number} is given twice; the number is the order")
    steps = [_load_step(path, overrides) for path in paths]
    _refuse_unused(overrides, steps)
    _refuse_shared_places(steps)
    for index, step in enumerate(steps):
        _check_inputs(step, steps[:index], steps[index + 1 :])
    return steps


def find_step(steps: Sequence[Step], name: str, option: str) -> int:
    """Return the index of the step that a name means. Raises ConfigError."""
    indices = [index for index, step in enumerate(steps) if step.is_called(name)]
    if len(indices) != 1:
        problem = "no step has that name" if not indices else "several steps have that title"
        names = ", ".join(step.name for step in steps)
        raise ConfigError(f"{option} {name}: {problem}; the steps are {names}")
    return indices[0]


def pipeline_dir(steps: Sequence[Step], folder: Path) -> Path:
    """Return where the pipeline keeps its records: `pipeline` in the run.dir of all its stages.

    Raises ConfigError if they have several.
    """
    dirs = {step.config.run.path.parent for step in steps if isinstance(step.config, StageConfig)}
    if len(dirs) != 1:
        shown = ", ".join(map(str, sorted(dirs))) or "none"
        raise ConfigError(f"{folder}: all stages need one run.dir, got {shown}")
    return dirs.pop() / "pipeline"


def maker_of(source: str, steps: Sequence[Step]) -> Step | None:
    """Return the step that makes a file or folder, if one does; the last, if several write
    there."""
    return next((step for step in reversed(steps) if step.makes(source)), None)


def _load_step(path: Path, overrides: Sequence[str]) -> Step:
    known = known_keys(path)
    own = tuple(text for text in overrides if _has_key(text.partition("=")[0], known))
    config = load_config(path, own, None)
    return Step(name=path.stem, path=path, config=config, overrides=own)


def _has_key(key: str, known: Mapping[str, KeyKind]) -> bool:
    """Whether a stage has a key, or a mapping that the key leads into."""
    parts = key.split(".")
    parents = (".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1))
    nearest = next((each for each in parents if each in known), None)
    return key in known or (nearest is not None and known[nearest] is KeyKind.LEAF)


def _refuse_unused(overrides: Sequence[str], steps: Sequence[Step]) -> None:
    for text in overrides:
        if not any(text in step.overrides for step in steps):
            raise ConfigError(f"override {text!r}: no step of the pipeline has this key")


def _refuse_shared_places(steps: Sequence[Step]) -> None:
    owners: dict[Path, Step] = {}
    for step in steps:
        for place in set(step.places):
            if place in owners:
                raise ConfigError(
                    f"{step.path} and {owners[place].path} both write to {place}; give each a "
                    "run.name or an output of its own"
                )
            owners[place] = step
    for place, step in owners.items():
        inside = next((each for each in place.parents if each in owners), None)
        if inside is not None and owners[inside] is not step:
            raise ConfigError(
                f"{step.path} writes to {place}, which lies in what {owners[inside].path} makes; "
                "choose a folder of its own"
            )


def _check_inputs(step: Step, earlier: Sequence[Step], later: Sequence[Step]) -> None:
    for key, source in step.inputs.items():
        if maker_of(source, earlier) is not None:
            continue
        maker = maker_of(source, [step, *later])
        if maker is not None:
            raise ConfigError(
                f"{step.path}: {key} {source} is made by {maker.name}, which does not run before; "
                "change the numbers, or read another file"
            )
        is_model = key in step.config.model_sources()
        if not Path(source).exists() and not _may_be_on_hub(source, is_model):
            raise ConfigError(
                f"{step.path}: {key} {source} does not exist, and no earlier step makes it"
            )


def _may_be_on_hub(source: str, is_model: bool) -> bool:
    """Whether a path that does not exist can be a hub name, which may have dots in it, too."""
    is_file_name = not is_model and _FILE_SUFFIX.fullmatch(Path(source).suffix) is not None
    is_name = _HUB_SOURCE.fullmatch(source) is not None and not Path(source).parent.exists()
    return is_name and not is_file_name
