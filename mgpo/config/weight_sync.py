"""How new weights reach the engines."""

from dataclasses import dataclass

from mgpo.config.ranges import require_above, require_at_least


@dataclass(frozen=True, kw_only=True)
class WeightSyncConfig:
    """Transport and the checks after a push."""

    bucket_mib: int = 256
    """Size of the pieces in which weights travel."""
    num_canaries: int = 2
    """Completions decoded after each push, whose log-probs the learner must reproduce."""
    canary_tokens: int = 8
    """Tokens of each."""
    timeout_s: float = 300.0
    """Longest a transfer between GPUs may take."""
    canary_tolerance: float | None = None
    """Largest allowed log-prob difference; None: 1e-3 in float32, 0.5 in bfloat16."""

    def __post_init__(self) -> None:
        require_at_least("weight_sync.bucket_mib", self.bucket_mib, 1)
        require_at_least("weight_sync.num_canaries", self.num_canaries, 1)
        require_at_least("weight_sync.canary_tokens", self.canary_tokens, 1)
        require_above("weight_sync.timeout_s", self.timeout_s, 0)
        if self.canary_tolerance is not None:
            require_above("weight_sync.canary_tolerance", self.canary_tolerance, 0)
