"""Which model is trained and sampled."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from omegaconf import MISSING

from mgpo.config.ranges import require_above, require_at_least


@dataclass(frozen=True, kw_only=True)
class RopeConfig:
    """A context longer than the model was made for: YaRN (Peng et al. 2023, arXiv 2309.00071)."""

    factor: float | None = None
    """How many times longer; None: the model's own rotary embedding as it is."""
    original_context: int = 32768
    """Tokens that the model was made for."""

    def __post_init__(self) -> None:
        if self.factor is not None:
            require_above("model.rope.factor", self.factor, 1)
        require_at_least("model.rope.original_context", self.original_context, 1)

    @property
    def context(self) -> int | None:
        """The longer context in tokens; None: unchanged."""
        return None if self.factor is None else int(self.factor * self.original_context)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model that learner and engines load."""

    path: str = MISSING
    """Folder in Hugging Face format, or a hub name (org/name)."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of learner and engine. The learner's master weights are float32 in any case."""
    rope: RopeConfig = field(default_factory=RopeConfig)
    """Learner and engines follow it, and it is written into the config.json of every model that
    the stage makes: what starts from one needs no setting."""

    @property
    def source(self) -> str:
        """What to load: a folder as an absolute path (actors may have another working directory),
        or the hub name."""
        folder = Path(self.path)
        return str(folder.resolve()) if folder.is_dir() else self.path
