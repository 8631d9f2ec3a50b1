"""Which model is trained and sampled."""

from dataclasses import dataclass
from typing import Literal

from omegaconf import MISSING


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model that learner and engines load."""

    path: str = MISSING
    """Folder in Hugging Face format, or a hub name (org/name)."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of learner and engine. The learner's master weights are float32 in any case."""
