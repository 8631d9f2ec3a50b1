"""Held-out accuracy during and after training."""

from dataclasses import dataclass

from mgpo.config.ranges import require_at_least
from mgpo.config.sampling import Distribution


@dataclass(frozen=True, kw_only=True)
class EvalConfig(Distribution):
    """Sampling of the held-out rows (`data.eval`)."""

    every: int = 0
    """Steps between evaluations; 0: only before the first and after the last step."""
    max_prompts: int | None = None
    """Take the first so many rows; None: all."""

    def __post_init__(self) -> None:
        require_at_least("eval.every", self.every, 0)
        self.check("eval")
        if self.max_prompts is not None:
            require_at_least("eval.max_prompts", self.max_prompts, 1)
