"""Settings of a supervised stage."""

from dataclasses import dataclass

from mgpo.config.ranges import require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class SftTaskConfig:
    """Batch of a step and an optional stopping rule."""

    samples_per_step: int = 128
    """Rows of one update, the global batch (recipe 1)."""
    stop_at_accuracy: float | None = None
    """Stop at the first evaluation whose held-out accuracy reaches this share; None: run all
    steps."""

    def __post_init__(self) -> None:
        require_at_least("sft.samples_per_step", self.samples_per_step, 1)
        if self.stop_at_accuracy is not None:
            require_within("sft.stop_at_accuracy", self.stop_at_accuracy, 0, 1)
