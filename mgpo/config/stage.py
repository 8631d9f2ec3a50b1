"""What every stage with a run directory has, and every one of those that only sample."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from omegaconf import MISSING

from mgpo.config.rollout import EngineConfig
from mgpo.config.run import RunConfig
from mgpo.config.sampling import SamplingConfig
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """What every stage with a run directory has."""

    stage: str = MISSING
    """Its command."""
    fixed_keys: ClassVar[tuple[str, ...]] = ()
    """Keys and sections that a run cannot be continued under another value of. Inputs among them
    must keep their content, too."""
    run: RunConfig = field(default_factory=RunConfig)

    def data_sources(self) -> dict[str, str]:
        """Return the data that is read, by the key that names it."""
        return {}

    def model_sources(self) -> dict[str, str]:
        """Return the models that are read, by the key that names each."""
        return {}

    def artifacts(self) -> dict[str, Path]:
        """Return what the stage makes for others, absolute, by kind."""
        return {}


@dataclass(frozen=True, kw_only=True)
class SamplingStageConfig(StageConfig):
    """What every stage has that samples models and learns nothing."""

    fixed_keys: ClassVar[tuple[str, ...]] = (
        *("stage", "run.seed", "dtype", "sampling", "rollout.max_model_len"),
        *("reward.options", "reward.correct_threshold"),
    )
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of the engines."""
    rollout: EngineConfig = field(default_factory=EngineConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
