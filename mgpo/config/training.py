"""The training stages: which components they have."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from omegaconf import MISSING

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.checkpoint import CheckpointConfig
from mgpo.config.data import DataConfig
from mgpo.config.evaluation import EvalConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.config.model import ModelConfig
from mgpo.config.overlong import OverlongConfig
from mgpo.config.ranges import require_at_least
from mgpo.config.rollout import RolloutConfig
from mgpo.config.sft import SftTaskConfig
from mgpo.config.stage import StageConfig
from mgpo.config.tracking import TrackingConfig
from mgpo.config.weight_sync import WeightSyncConfig
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(StageConfig):
    """What every training stage has."""

    # What prompt order, sampling seeds and the checkpoint's weights follow from.
    fixed_keys: ClassVar[tuple[str, ...]] = (
        "stage",
        "run.seed",
        "model.path",
        "model.rope",
        "data.train",
        "data.columns",
        "data.prompt_suffix",
        "data.reference_after",
        "data.prompts_per_step",
        "data.max_refill_prompts",
        "data.domain_weights",
        "rollout.group_size",
        "sft.samples_per_step",
    )
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    weight_sync: WeightSyncConfig = field(default_factory=WeightSyncConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)

    def data_sources(self) -> dict[str, str]:
        """Return the data that is read, by the key that names it."""
        sources = {"data.train": self.data.train, "data.eval": self.data.eval}
        return {key: source for key, source in sources.items() if source is not None}

    def model_sources(self) -> dict[str, str]:
        """Return the model that training starts from."""
        return {"model.path": self.model.path}

    def artifacts(self) -> dict[str, Path]:
        """Return the trained model."""
        return {"model": self.run.path / "final"}


@dataclass(frozen=True, kw_only=True)
class RlConfig(TrainingConfig):
    """`mgpo rl`: MGPO on verifiable prompts."""

    stage: Literal["rl"] = "rl"
    steps: int = MISSING
    """Training steps of the whole run, those before a resume included."""
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    length_reward: LengthRewardConfig = field(default_factory=LengthRewardConfig)
    overlong: OverlongConfig = field(default_factory=OverlongConfig)

    def __post_init__(self) -> None:
        require_at_least("steps", self.steps, 1)
        if self.overlong.buffer_tokens > self.rollout.max_completion_tokens:
            raise ValueError(
                f"overlong.buffer_tokens must be at most rollout.max_completion_tokens "
                f"({self.rollout.max_completion_tokens}), got {self.overlong.buffer_tokens}"
            )
        if self.learner.updates_per_batch > self.data.prompts_per_step:
            raise ValueError(
                f"learner.updates_per_batch must be at most data.prompts_per_step "
                f"({self.data.prompts_per_step}), got {self.learner.updates_per_batch}: "
                "an update needs a prompt"
            )


@dataclass(frozen=True, kw_only=True)
class SftConfig(TrainingConfig):
    """`mgpo sft`: supervised fine-tuning on rows with a `response`."""

    stage: Literal["sft"] = "sft"
    steps: int | None = None
    """Training steps of the whole run, those before a resume included; or else `epochs`."""
    epochs: int | None = None
    """Passes over the data: every row is taken exactly so often, and the last step is as small as
    what is left."""
    sft: SftTaskConfig = field(default_factory=SftTaskConfig)

    def __post_init__(self) -> None:
        if self.data.domain_weights or self.data.max_refill_prompts:
            raise ValueError(
                "data.domain_weights and data.max_refill_prompts are for `mgpo rl`; "
                "leave them out of a supervised stage"
            )
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(
                f"a supervised stage has either steps or epochs, got steps={self.steps} and "
                f"epochs={self.epochs}: set one of them and leave the other out, or null"
            )
        for key in ("steps", "epochs"):
            if getattr(self, key) is not None:
                require_at_least(key, getattr(self, key), 1)
        if self.learner.updates_per_batch != 1:
            raise ValueError(
                "learner.updates_per_batch must be 1 in a supervised stage, got "
                f"{self.learner.updates_per_batch}: for smaller updates lower sft.samples_per_step "
                "or sft.tokens_per_step"
            )
        if self.rollout.temperature != 1.0:
            raise ValueError(
                "rollout.temperature must be 1.0 in a supervised stage, got "
                f"{self.rollout.temperature}: the learner trains at it; evaluations sample at "
                "eval.temperature"
            )
        if self.sft.stop_at_accuracy is not None and (
            self.data.eval is None or self.eval.every < 1
        ):
            raise ValueError(
                "sft.stop_at_accuracy needs data.eval and eval.every >= 1: it reads the evaluations"
            )
