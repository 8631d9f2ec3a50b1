"""The configuration of each stage: which components it has."""

from dataclasses import dataclass, field
from typing import Literal

from omegaconf import MISSING

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.checkpoint import CheckpointConfig
from mgpo.config.data import DataConfig
from mgpo.config.evaluation import EvalConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.model import ModelConfig
from mgpo.config.ranges import require_at_least
from mgpo.config.rollout import RolloutConfig
from mgpo.config.run import RunConfig
from mgpo.config.sft import SftTaskConfig
from mgpo.config.tracking import TrackingConfig
from mgpo.config.weight_sync import WeightSyncConfig
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """What every training stage has."""

    steps: int = MISSING
    """Training steps of the whole run, those before a resume included."""
    run: RunConfig = field(default_factory=RunConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    weight_sync: WeightSyncConfig = field(default_factory=WeightSyncConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)

    def __post_init__(self) -> None:
        require_at_least("steps", self.steps, 1)


@dataclass(frozen=True, kw_only=True)
class RlConfig(StageConfig):
    """`mgpo rl`: MGPO on verifiable prompts."""

    stage: Literal["rl"] = "rl"
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learner.updates_per_batch > self.data.prompts_per_step:
            raise ValueError(
                f"learner.updates_per_batch must be at most data.prompts_per_step "
                f"({self.data.prompts_per_step}), got {self.learner.updates_per_batch}: "
                "an update needs a prompt"
            )


@dataclass(frozen=True, kw_only=True)
class SftConfig(StageConfig):
    """`mgpo sft`: supervised fine-tuning on rows with a `response`."""

    stage: Literal["sft"] = "sft"
    sft: SftTaskConfig = field(default_factory=SftTaskConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learner.updates_per_batch > self.sft.samples_per_step:
            raise ValueError(
                f"learner.updates_per_batch must be at most sft.samples_per_step "
                f"({self.sft.samples_per_step}), got {self.learner.updates_per_batch}: "
                "an update needs a sample"
            )
        if self.sft.stop_at_accuracy is not None and (
            self.data.eval is None or self.eval.every < 1
        ):
            raise ValueError(
                "sft.stop_at_accuracy needs data.eval and eval.every >= 1: it reads the evaluations"
            )


STAGES: dict[str, type[StageConfig]] = {"rl": RlConfig, "sft": SftConfig}
