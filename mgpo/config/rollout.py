"""How completions are sampled for training."""

from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least

_WHY_FULL = "training samples from the full distribution: truncated sampling biases every ratio"


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """The engines and the distribution they sample from."""

    engine: Literal["hf"] = "hf"
    """hf: batched, cached generation on a transformers model."""
    num_workers: int = 1
    """Engines, each in a Ray actor of its own."""
    group_size: int = 16
    """Completions per prompt, G (recipe 2, ours)."""
    temperature: float = 1.0
    """Applied by engine and learner alike."""
    top_p: float = 1.0
    """1: training samples from the full distribution."""
    top_k: int = -1
    """-1: off."""
    min_p: float = 0.0
    """0: off."""
    max_completion_tokens: int = 1024
    """A completion that reaches it is truncated, and wrong."""
    max_model_len: int | None = None
    """Context of the engine in tokens; None: the model's own."""
    max_batch_samples: int = 256
    """Sequences that one engine decodes at once."""
    timeout_s: float = 1800.0
    """Longest wait for the next finished group, and for an engine to take weights."""
    start_timeout_s: float = 900.0
    """Longest wait for an engine to load its model."""
    max_restarts: int = 3
    """Engines that may be replaced in one step before the run stops."""

    def __post_init__(self) -> None:
        if self.group_size < 2:
            raise ValueError(
                f"rollout.group_size must be at least 2, got {self.group_size}: "
                "an advantage compares the completions of one prompt"
            )
        require_at_least("rollout.num_workers", self.num_workers, 1)
        require_at_least("rollout.max_completion_tokens", self.max_completion_tokens, 1)
        require_at_least("rollout.max_batch_samples", self.max_batch_samples, 1)
        require_at_least("rollout.max_restarts", self.max_restarts, 0)
        require_above("rollout.timeout_s", self.timeout_s, 0)
        require_above("rollout.start_timeout_s", self.start_timeout_s, 0)
        require_above("rollout.temperature", self.temperature, 0)
        if self.top_p != 1.0:
            raise ValueError(f"rollout.top_p must be 1.0, got {self.top_p}: {_WHY_FULL}")
        if self.top_k != -1:
            raise ValueError(f"rollout.top_k must be -1 (off), got {self.top_k}: {_WHY_FULL}")
        if self.min_p != 0.0:
            raise ValueError(f"rollout.min_p must be 0.0, got {self.min_p}: {_WHY_FULL}")
