"""Settings of the sandbox."""

import os
from dataclasses import dataclass


@dataclass(kw_only=True)
class SandboxConfig:
    """How many programs run at a time, and how well they must be contained."""

    num_workers: int = 0
    """Programs judged at the same time, each on one core; 0 takes the cores of this process."""
    allow_weak_sandbox: bool = False
    """Accept tier C, where programs can read files."""
    tier: str = "auto"
    """`auto` takes the strongest that works here; A, B or C insists on one, for tests of it."""
    cgroup: str | None = None
    """A directory of control groups that is delegated to this user, where each judge gets one."""
    cgroup_memory_mb: int = 8192
    """Memory of such a group: two programs at their limits, and what runs them."""
    max_queued: int = 0
    """Programs that may wait, before `submit` blocks; 0 is 4 a worker."""

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.tier not in ("auto", "A", "B", "C"):
            raise ValueError(f"sandbox.tier: auto, A, B or C, got {self.tier!r}")
        if self.cgroup_memory_mb < 512:
            raise ValueError(f"sandbox.cgroup_memory_mb: at least 512, got {self.cgroup_memory_mb}")
        for name in ("num_workers", "max_queued"):
            if getattr(self, name) < 0:
                raise ValueError(f"sandbox.{name} must not be negative, got {getattr(self, name)}")

    @property
    def workers(self) -> int:
        """The number of workers that is meant."""
        return self.num_workers or len(os.sched_getaffinity(0))
