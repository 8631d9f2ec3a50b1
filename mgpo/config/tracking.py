"""What is written about a run."""

from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_at_least


@dataclass(frozen=True, kw_only=True)
class TrackingConfig:
    """Console, JSONL (the truth), samples, W&B (best effort)."""

    wandb: Literal["auto", "online", "offline", "disabled"] = "auto"
    """auto: online when an API key is configured, else offline in the run's folder."""
    project: str = "mgpo"
    """W&B project."""
    entity: str | None = None
    """W&B team or user; None: the key's default."""
    wandb_samples: int = 8
    """Samples per step that W&B shows; all of them are in samples/."""
    progress_bar: bool = True
    """Progress bar on a terminal; never in a log file."""

    def __post_init__(self) -> None:
        require_at_least("tracking.wandb_samples", self.wandb_samples, 0)
