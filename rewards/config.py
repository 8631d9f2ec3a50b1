"""Settings of the reward service."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """Where rewards run, how long one may take, and when failures stop the run."""

    num_workers: int = 1
    """Ray actors that grade; they need CPUs only."""
    processes_per_worker: int = 2
    """Grading processes of one actor, each of which can be killed alone."""
    timeout_s: float = 10.0
    """Deadline of one grading, counted from the moment its process starts on it."""
    timeouts_s: dict[str, float] = field(
        default_factory=lambda: {"code": 180.0, "rubric": 300.0, "math_judge": 300.0}
    )
    """Deadlines of single rewards, by name, in place of `timeout_s`; the parts of a weighted sum
    have those of their rewards."""
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Fields for single rewards, by name, as if every row had them; a row's own come first. The
    parts of a weighted sum have those of their rewards, and then those of `weighted`."""
    allow_weak_sandbox: bool = False
    """Let `code` run programs where they can read files (tier C of docs/sandbox.md)."""
    correct_threshold: float = 1.0
    """A graded reward counts as correct from this value on."""
    max_error_rate: float = 0.1
    """Share of `error` outcomes, among the last `error_window`, above which the run stops."""
    error_window: int = 256
    """Outcomes over which the error rate is measured; the alarm needs a quarter of them."""
    audit_every: int = 0
    """Gradings after which the rewards' known items are graded again during the run; 0: never."""

    def __post_init__(self) -> None:
        for key in ("num_workers", "processes_per_worker", "error_window"):
            if getattr(self, key) < 1:
                raise ValueError(f"reward.{key} must be at least 1, got {getattr(self, key)}")
        for key, seconds in {"timeout_s": self.timeout_s, **self._named_timeouts()}.items():
            if seconds <= 0:
                raise ValueError(f"reward.{key} must be above 0 seconds, got {seconds}")
        if "weighted" in self.timeouts_s:
            raise ValueError(
                f"reward.timeouts_s.weighted must not be set, got {self.timeouts_s['weighted']}: "
                "each part of a weighted sum has the deadline of its reward; set those"
            )
        if self.audit_every < 0:
            raise ValueError(f"reward.audit_every must not be negative, got {self.audit_every}")
        if not 0 < self.max_error_rate <= 1:
            raise ValueError(f"reward.max_error_rate must be in (0, 1], got {self.max_error_rate}")

    def _named_timeouts(self) -> dict[str, float]:
        return {f"timeouts_s.{name}": seconds for name, seconds in self.timeouts_s.items()}

    def deadline_s(self, reward: str) -> float:
        """Return the deadline of one grading by that reward."""
        return self.timeouts_s.get(reward, self.timeout_s)
