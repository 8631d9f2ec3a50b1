"""Which prompts are read and how their columns are named."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from mgpo.config.ranges import require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class RowsConfig:
    """How the rows of a source are read."""

    columns: dict[str, str] = field(default_factory=dict)
    """Our field -> column of the source; dots go into nested columns (verl: {reference:
    reward_model.ground_truth})."""
    domain: str = "math"
    """Domain of rows that name none."""
    prompt_suffix: str = ""
    """Appended to the last user message, e.g. an instruction to box the answer."""
    reference_after: str | None = None
    """Keep only what follows the last such marker of a string reference (GSM8K: '####')."""


@dataclass(frozen=True, kw_only=True)
class DataConfig(RowsConfig):
    """Prompt rows for training and held-out evaluation."""

    train: str = MISSING
    """A .jsonl or .parquet file, or a hub dataset ORG/NAME[@CONFIG][:SPLIT], e.g.
    openai/gsm8k@main:train."""
    eval: str | None = None
    """Held-out rows, written like `train`."""
    prompts_per_step: int = 128
    """Prompts of one training step (recipe 2, ours)."""
    domain_weights: dict[str, float] = field(default_factory=dict)
    """Share of each domain in a step's prompts, in any unit, e.g. {math: 2, code: 1}; empty: as the
    rows are. Every domain of the rows needs one; 0 leaves its rows out (rl)."""
    max_refill_prompts: int = 0
    """Further prompts that a step may sample to replace groups without a gradient; 0: none, flat
    groups stay (rl; the report)."""
    max_prompt_tokens: int | None = None
    """Refuse the data if a prompt is longer; None: what the context leaves."""

    def __post_init__(self) -> None:
        require_at_least("data.prompts_per_step", self.prompts_per_step, 1)
        require_at_least("data.max_refill_prompts", self.max_refill_prompts, 0)
        for domain, weight in self.domain_weights.items():
            require_within(f"data.domain_weights.{domain}", weight, 0, 1e9)
        if self.domain_weights and not any(self.domain_weights.values()):
            raise ValueError("data.domain_weights: at least one weight must be above 0")
        if self.max_prompt_tokens is not None:
            require_at_least("data.max_prompt_tokens", self.max_prompt_tokens, 1)
