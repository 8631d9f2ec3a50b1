"""Soft penalty on completions that come close to the length limit (docs/loss.md)."""

from dataclasses import dataclass

from mgpo.config.ranges import require_above, require_at_least


@dataclass(frozen=True, kw_only=True)
class OverlongConfig:
    """DAPO's soft overlong punishment (Yu et al. 2025, eq. 13); off by default."""

    buffer_tokens: int = 0
    """The penalty grows linearly over the last so many tokens before
    rollout.max_completion_tokens; 0: none (DAPO: 4096 of 20480)."""
    factor: float = 1.0
    """What a completion of full length loses of its reward (DAPO: 1)."""

    def __post_init__(self) -> None:
        require_at_least("overlong.buffer_tokens", self.buffer_tokens, 0)
        require_above("overlong.factor", self.factor, 0)
