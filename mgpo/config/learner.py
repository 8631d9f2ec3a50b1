"""How the policy is updated."""

import math
from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least, require_within

_WARMUP_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class ForwardConfig:
    """Ranks and token budgets of forward passes, whether or not something is learnt."""

    num_ranks: int = 1
    """FSDP2 ranks, each in a Ray actor of its own."""
    max_tokens_per_microbatch: int = 16384
    """Tokens (prompt and completion) that one forward of one rank takes; at least the longest
    sample."""
    head_chunk_tokens: int | None = None
    """Tokens whose logits are alive at once; None: from `head_chunk_mib`."""
    head_chunk_mib: int = 512
    """Bytes for float32 logits in MiB, from which the chunk follows."""
    timeout_s: float = 1800.0
    """Longest wait for the ranks."""

    def __post_init__(self) -> None:
        for key in ("num_ranks", "max_tokens_per_microbatch", "head_chunk_mib"):
            require_at_least(f"learner.{key}", getattr(self, key), 1)
        if self.head_chunk_tokens is not None:
            require_at_least("learner.head_chunk_tokens", self.head_chunk_tokens, 1)
        require_above("learner.timeout_s", self.timeout_s, 0)


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(ForwardConfig):
    """Ranks, token budget, optimizer and guards."""

    lr: float = 1e-6
    """Peak learning rate (ours)."""
    min_lr: float = 0.0
    """Where `cosine` and `linear` end."""
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    """Course of the learning rate after the warm-up."""
    warmup_steps: int | None = None
    """Updates over which the rate rises linearly from lr / warmup_steps; None: 10 (ours), unless
    `warmup_share` is set."""
    warmup_share: float | None = None
    """The same as a share of all updates of the run, rounded up (recipe 1: 0.05)."""
    beta1: float = 0.9
    """AdamW (ours)."""
    beta2: float = 0.95
    """AdamW (ours)."""
    weight_decay: float = 0.0
    """AdamW (ours)."""
    grad_clip: float = 1.0
    """Largest gradient norm."""
    updates_per_batch: int = 1
    """Optimizer updates made from one batch; 1 is strictly on-policy (the report)."""
    activation_checkpointing: bool = False
    """Recompute each layer in the backward pass: less memory, about a third more time."""
    max_skipped_updates: int = 5
    """Consecutive updates skipped for a non-finite gradient before the run stops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least("learner.updates_per_batch", self.updates_per_batch, 1)
        require_above("learner.lr", self.lr, 0)
        require_within("learner.min_lr", self.min_lr, 0, self.lr)
        self._check_warmup()
        require_within("learner.beta1", self.beta1, 0, 1)
        require_within("learner.beta2", self.beta2, 0, 1)
        require_at_least("learner.weight_decay", self.weight_decay, 0)
        require_above("learner.grad_clip", self.grad_clip, 0)
        require_at_least("learner.max_skipped_updates", self.max_skipped_updates, 0)

    def warmup_updates(self, total_updates: int) -> int:
        """Return the updates of the warm-up in a run of so many."""
        if self.warmup_share is not None:
            # One hundredth of 700 is 7.000000000000001 in floating point, not 8 updates.
            return math.ceil(self.warmup_share * total_updates - 1e-9)
        return _WARMUP_STEPS if self.warmup_steps is None else self.warmup_steps

    def _check_warmup(self) -> None:
        if self.warmup_steps is not None and self.warmup_share is not None:
            raise ValueError(
                f"learner.warmup_steps={self.warmup_steps} and learner.warmup_share="
                f"{self.warmup_share} both give the warm-up: set one of them to null"
            )
        if self.warmup_steps is not None:
            require_at_least("learner.warmup_steps", self.warmup_steps, 0)
        if self.warmup_share is not None:
            require_within("learner.warmup_share", self.warmup_share, 0, 1)
