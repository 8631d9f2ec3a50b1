"""Settings of a supervised stage."""

from dataclasses import dataclass

from mgpo.config.ranges import require_at_least, require_within

_SAMPLES_PER_STEP = 128


@dataclass(frozen=True, kw_only=True)
class SftTaskConfig:
    """The global batch of a step, in rows or in tokens, and an optional stopping rule."""

    samples_per_step: int | None = None
    """Rows of one update, the global batch; None: 128 (recipe 1), unless `tokens_per_step` is
    set."""
    tokens_per_step: int | None = None
    """Tokens of one update at most, prompts included, instead of a number of rows: the next rows of
    the order, as long as they fit (ours)."""
    stop_at_accuracy: float | None = None
    """Stop at the first evaluation whose held-out accuracy reaches this share; None: run all
    steps."""

    def __post_init__(self) -> None:
        for key in ("samples_per_step", "tokens_per_step"):
            if getattr(self, key) is not None:
                require_at_least(f"sft.{key}", getattr(self, key), 1)
        if self.samples_per_step is not None and self.tokens_per_step is not None:
            raise ValueError(
                f"sft.samples_per_step={self.samples_per_step} and sft.tokens_per_step="
                f"{self.tokens_per_step} both give the size of a batch: set one of them to null"
            )
        if self.stop_at_accuracy is not None:
            require_within("sft.stop_at_accuracy", self.stop_at_accuracy, 0, 1)

    @property
    def rows_per_step(self) -> int | None:
        """Rows of one update; None: `tokens_per_step` decides."""
        if self.tokens_per_step is not None:
            return None
        return self.samples_per_step or _SAMPLES_PER_STEP
