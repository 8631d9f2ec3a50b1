"""Where a run lives and how it starts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omegaconf import MISSING


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Name, place, seed and resumption of a run."""

    name: str = MISSING
    """The run's folder is `dir/name`."""
    dir: str = "runs"
    """Folder that holds runs."""
    seed: int = 0
    """Everything random is a pure function of this seed, the step and the row."""
    resume: Literal["auto", "must", "never"] = "auto"
    """auto: continue from the newest whole checkpoint if there is one; must: refuse to start
    without; never: refuse a folder that holds a run."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto: cuda where the Ray cluster has GPUs."""

    def __post_init__(self) -> None:
        if "/" in self.name or not self.name.strip(". "):
            raise ValueError(f"run.name must be a plain folder name, got {self.name!r}")

    @property
    def path(self) -> Path:
        """The run's folder, absolute: actors may have another working directory."""
        return (Path(self.dir) / self.name).resolve()
