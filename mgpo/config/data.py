"""Which prompts are read and how their columns are named."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from mgpo.config.ranges import require_at_least


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Prompt rows for training and held-out evaluation."""

    train: str = MISSING
    """A .jsonl or .parquet file, or a hub dataset ORG/NAME[@CONFIG][:SPLIT], e.g.
    openai/gsm8k@main:train."""
    eval: str | None = None
    """Held-out rows, written like `train`."""
    columns: dict[str, str] = field(default_factory=dict)
    """Our field -> column of the source; dots go into nested columns (verl: {reference:
    reward_model.ground_truth})."""
    domain: str = "math"
    """Domain of rows that name none."""
    prompt_suffix: str = ""
    """Appended to the last user message, e.g. an instruction to box the answer."""
    reference_after: str | None = None
    """Keep only what follows the last such marker of a string reference (GSM8K: '####')."""
    prompts_per_step: int = 128
    """Prompts of one training step (recipe 2, ours)."""
    max_prompt_tokens: int | None = None
    """Refuse the data if a prompt is longer; None: what the context leaves."""

    def __post_init__(self) -> None:
        require_at_least("data.prompts_per_step", self.prompts_per_step, 1)
        if self.max_prompt_tokens is not None:
            require_at_least("data.max_prompt_tokens", self.max_prompt_tokens, 1)
