"""Held-out accuracy during and after training."""

from dataclasses import dataclass

from mgpo.config.ranges import require_above, require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Sampling of the held-out rows (`data.eval`)."""

    every: int = 0
    """Steps between evaluations; 0: only before the first and after the last step."""
    max_prompts: int | None = None
    """Take the first so many rows; None: all."""
    samples_per_prompt: int = 4
    """Completions per prompt."""
    temperature: float = 1.0
    """Evaluation may differ from training here."""
    top_p: float = 1.0
    """Nucleus; allowed in evaluation."""
    top_k: int = -1
    """-1: off."""

    def __post_init__(self) -> None:
        require_at_least("eval.every", self.every, 0)
        require_at_least("eval.samples_per_prompt", self.samples_per_prompt, 1)
        if self.max_prompts is not None:
            require_at_least("eval.max_prompts", self.max_prompts, 1)
        require_above("eval.temperature", self.temperature, 0)
        require_within("eval.top_p", self.top_p, 0, 1)
        if self.top_k != -1:
            require_at_least("eval.top_k", self.top_k, 1)
