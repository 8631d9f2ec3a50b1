"""Which model is trained and sampled."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omegaconf import MISSING


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model that learner and engines load."""

    path: str = MISSING
    """Folder in Hugging Face format, or a hub name (org/name)."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of learner and engine. The learner's master weights are float32 in any case."""

    @property
    def source(self) -> str:
        """What to load: a folder as an absolute path (actors may have another working directory),
        or the hub name."""
        folder = Path(self.path)
        return str(folder.resolve()) if folder.is_dir() else self.path
