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
    aggregation: Literal["sample_mean", "token_mean", "constant"] = "sample_mean"
    """sample_mean: over a sample's tokens, then over samples (the report); token_mean: over all
    tokens of the batch; constant: a sample's sum over `constant_length`, then over samples."""
    constant_length: int | None = None
    """Tokens that `constant` divides by, whatever a sample's length (Dr. GRPO: the longest
    completion allowed)."""
    clip_low: float = 0.2
    """The ratio is clipped below at 1 - clip_low."""
    clip_high: float = 0.2
    """The ratio is clipped above at 1 + clip_high."""
    dual_clip: float | None = None
    """Largest loss of a token with a negative advantage, in units of that advantage (verl's
    clip_ratio_c: 3); None: unbounded. Inert while strictly on-policy."""
    mismatch: Literal["token_tis", "icepop", "geo_mask", "none"] = "token_tis"
    """Correction for engine and learner log-probs that differ. token_tis: token-level truncated
    importance sampling; icepop: the importance weight, and 0 for a token whose weight is outside
    mismatch_floor to mismatch_cap; geo_mask: 0 for each token of a sample whose geometric mean
    weight is outside geo_mask_low to geo_mask_high, else 1."""
    mismatch_cap: float = 2.0
    """C: the largest importance weight of a token."""
    mismatch_floor: float = 0.5
    """The least importance weight that `icepop` lets pass."""
    geo_mask_low: float = 0.99
    """The least geometric mean of a sample's token weights that `geo_mask` lets pass."""
    geo_mask_high: float = 1.01
    """The largest one."""
    kl_coef: float = 0.0
    """Times each token's k3 estimate of KL(policy || the stage's starting model), added to its
    loss; 0: none, and that model is not loaded (the reports)."""
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
        require_within("algorithm.mismatch_floor", self.mismatch_floor, 0, self.mismatch_cap)
        require_above("algorithm.geo_mask_low", self.geo_mask_low, 0)
        require_at_least("algorithm.geo_mask_high", self.geo_mask_high, self.geo_mask_low)
        require_at_least("algorithm.kl_coef", self.kl_coef, 0)
        if self.dual_clip is not None:
            require_above("algorithm.dual_clip", self.dual_clip, 1)
        if (self.constant_length is not None) != (self.aggregation == "constant"):
            raise ValueError(
                "algorithm.constant_length goes with algorithm.aggregation=constant, and only "
                f"with it; got {self.constant_length} and {self.aggregation}"
            )
        if self.constant_length is not None:
            require_at_least("algorithm.constant_length", self.constant_length, 1)
