"""Long2Short: shorter right answers (docs/loss.md)."""

from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least


@dataclass(frozen=True, kw_only=True)
class LengthRewardConfig:
    """How far the rewards of right answers are moved by their length; off by default."""

    lambda_: float = 0.0
    """Largest shift of a reward; 0 leaves all as they are (report: 0.2 in its Long2Short stage)."""
    all_correct: Literal["keep", "skip"] = "keep"
    """Groups that are all right and of unequal lengths train on length alone: keep (the formula as
    it stands) or skip (ours)."""
    max_accuracy_drop: float = 0.03
    """Held-out accuracy may fall so far below the run's first one (ours)."""
    when_dropped: Literal["warn", "stop"] = "warn"
    """What happens then; a stop saves the state first."""

    def __post_init__(self) -> None:
        require_at_least("length_reward.lambda_", self.lambda_, 0)
        require_above("length_reward.max_accuracy_drop", self.max_accuracy_drop, 0)
