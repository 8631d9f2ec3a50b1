"""When state and models are saved and how much is kept."""

from dataclasses import dataclass

from mgpo.config.ranges import require_at_least


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """Sharded checkpoints, to continue from, and models in Hugging Face format."""

    every: int = 10
    """Steps between checkpoints; the last step is always saved."""
    keep_last: int = 2
    """Whole checkpoints kept; older ones go only after the new one is published."""
    export_every: int | None = None
    """Steps between models written to exports/step_*/ in Hugging Face format, all of which are kept
    (recipe 1: probing compares them); None: only final/ is written."""

    def __post_init__(self) -> None:
        require_at_least("checkpoint.every", self.every, 1)
        require_at_least("checkpoint.keep_last", self.keep_last, 1)
        if self.export_every is not None:
            require_at_least("checkpoint.export_every", self.export_every, 1)
