"""When state is saved and how much is kept."""

from dataclasses import dataclass

from mgpo.config.ranges import require_at_least


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """Sharded checkpoints inside the run's folder."""

    every: int = 10
    """Steps between checkpoints; the last step is always saved."""
    keep_last: int = 2
    """Whole checkpoints kept; older ones go only after the new one is published."""

    def __post_init__(self) -> None:
        require_at_least("checkpoint.every", self.every, 1)
        require_at_least("checkpoint.keep_last", self.keep_last, 1)
