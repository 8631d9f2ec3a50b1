"""How completions are sampled where nothing is learnt from them."""

from dataclasses import dataclass
from typing import ClassVar

from mgpo.config.ranges import require_above, require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """What is sampled from, and how often. Unlike in training, it may be truncated."""

    samples_per_prompt: int = 4
    """Completions per prompt."""
    temperature: float = 1.0
    """Evaluation may differ from training here."""
    top_p: float = 1.0
    """Nucleus; allowed in evaluation."""
    top_k: int = -1
    """-1: off."""

    def check(self, section: str) -> None:
        """Raise ValueError for a value out of range, naming the key below `section`."""
        require_at_least(f"{section}.samples_per_prompt", self.samples_per_prompt, 1)
        require_above(f"{section}.temperature", self.temperature, 0)
        require_within(f"{section}.top_p", self.top_p, 0, 1)
        if self.top_k != -1:
            require_at_least(f"{section}.top_k", self.top_k, 1)


@dataclass(frozen=True, kw_only=True)
class SamplingConfig(Distribution):
    """The completions of a stage that samples and learns nothing."""

    section: ClassVar[str] = "sampling"
    """Where it stands in an experiment, as messages name it."""
    max_completion_tokens: int | None = None
    """A completion that reaches it is truncated, and wrong; None: what the context leaves."""
    max_error_share: float = 0.01
    """Largest share of samples without a verdict that a result may rest on."""

    def __post_init__(self) -> None:
        self.check(self.section)
        if self.max_completion_tokens is not None:
            limit = f"{self.section}.max_completion_tokens"
            require_at_least(limit, self.max_completion_tokens, 1)
        require_within(f"{self.section}.max_error_share", self.max_error_share, 0, 1)
