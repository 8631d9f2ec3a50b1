"""MGPO's settings. Formulas and sources: docs/loss.md."""

from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig:
    """Weight, advantage, objective and mismatch correction."""

    gamma: float = 1.0
    """Sharpness of the MGPO weight; 0 is plain GRPO (ours: the reports publish no value)."""
    target_accuracy: float = 0.5
    """p0, the group accuracy at which the weight peaks (report: 0.5)."""
    accuracy_source: Literal["group", "prior"] = "group"
    """group: the G rollouts themselves; prior: the row's fields `accuracy`, `accuracy_n`,
    `accuracy_model`."""
    std_floor: float = 1e-6
    """Added to the standard deviation (ddof 1) that divides the advantage."""
    aggregation: Literal["sample_mean", "token_mean"] = "sample_mean"
    """sample_mean: over a sample's tokens, then over samples (the report); token_mean: over all
    tokens of the batch."""
    clip_low: float = 0.2
    """The ratio is clipped below at 1 - clip_low."""
    clip_high: float = 0.2
    """The ratio is clipped above at 1 + clip_high."""
    mismatch: Literal["token_tis", "none"] = "token_tis"
    """Correction for engine and learner log-probs that differ: token-level truncated importance
    sampling."""
    mismatch_cap: float = 2.0
    """C: the largest importance weight of a token."""
    mask_truncated: bool = False
    """Leave truncated completions out of the loss; their verdict still counts for p(q)."""
    masked_samples: Literal["count", "skip"] = "count"
    """Whether a sample without a trained token counts in the mean over samples (TRL: count, verl:
    skip)."""
    permute_outcomes: bool = False
    """Control run: outcomes are permuted over the batch, so that nothing can be learnt from
    them."""

    def __post_init__(self) -> None:
        require_at_least("algorithm.gamma", self.gamma, 0)
        if not 0 < self.target_accuracy < 1:
            raise ValueError(
                "algorithm.target_accuracy must be between 0 and 1, both excluded, "
                f"got {self.target_accuracy}"
            )
        require_at_least("algorithm.std_floor", self.std_floor, 0)
        require_within("algorithm.clip_low", self.clip_low, 0, 1)
        require_at_least("algorithm.clip_high", self.clip_high, 0)
        require_above("algorithm.mismatch_cap", self.mismatch_cap, 0)
