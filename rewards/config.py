"""Settings of the reward service."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """Where rewards run, how long one may take, and when failures stop the run."""

    num_workers: int = 1
    """Ray actors that grade; they need CPUs only."""
    processes_per_worker: int = 2
    """Grading processes of one actor, each of which can be killed alone."""
    timeout_s: float = 10.0
    """Deadline of one grading, counted from the moment its process starts on it."""
    correct_threshold: float = 1.0
    """A graded reward counts as correct from this value on."""
    max_error_rate: float = 0.1
    """Share of `error` outcomes, among the last `error_window`, above which the run stops."""
    error_window: int = 256
    """Outcomes over which the error rate is measured; the alarm needs a quarter of them."""

    def __post_init__(self) -> None:
        for key in ("num_workers", "processes_per_worker", "error_window"):
            if getattr(self, key) < 1:
                raise ValueError(f"reward.{key} must be at least 1, got {getattr(self, key)}")
        if self.timeout_s <= 0:
            raise ValueError(f"reward.timeout_s must be above 0 seconds, got {self.timeout_s}")
        if not 0 < self.max_error_rate <= 1:
            raise ValueError(f"reward.max_error_rate must be in (0, 1], got {self.max_error_rate}")
