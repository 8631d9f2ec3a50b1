"""What a benchmark is: data, prompt template, reward, sampling and metric, all declared."""

from dataclasses import dataclass, field
from typing import Any, Literal

from omegaconf import MISSING

from mgpo.config.data import RowsConfig
from mgpo.config.ranges import require_above, require_at_least, require_within
from mgpo.config.sampling import SamplingConfig

DataFormat = Literal[
    "rows",
    "ifeval",
    "choices",
    "humaneval",
    "mbpp",
    "mbpp_plus",
    "leetcode",
    "livecodebench",
    "stdin",
]
Metric = Literal["accuracy", "instructions", "contests"]


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(RowsConfig):
    """One benchmark; a YAML file holds what differs from the defaults."""

    title: str = MISSING
    """As tables print it."""
    sources: list[str] = field(default_factory=list)
    """Files or hub datasets, written as `data.train`; empty: the user has to name them."""
    format: DataFormat = "rows"
    """How a source's rows are laid out. rows: as docs/data.md has it, with `columns`."""
    template: str = "plain.txt"
    """File with `{prompt}` in it, beside the benchmark's own or among those that come along."""
    reward: str = ""
    """Grader of all rows; empty: each row's own, or the domain's."""
    math_judge: bool = False
    """Let a judge model decide beside the rule where the grader is `math`."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Further fields of every row: options of the reward, limits of programs."""
    reference_fields: dict[str, Any] = field(default_factory=dict)
    """Put into every reference that is a mapping and lacks them, e.g. time_limit_s."""
    from_date: str = ""
    """Problems of that day or later only, e.g. 2025-02-01; needs a format with dates."""
    before_date: str = ""
    """Problems before that day only."""
    first_id: int | None = None
    """Lowest task number that is taken (mbpp: the test split is 11 to 510)."""
    last_id: int | None = None
    """Highest task number that is taken."""
    metric: Metric = "accuracy"
    """accuracy: of the verdicts; instructions: also strict and loose, by prompt and by
    instruction; contests: also accepted attempts of each contest (field `contest`)."""
    pass_at: list[int] = field(default_factory=list)
    """K of Pass@K; empty: 1, 2, 4, ... up to the samples of a problem."""
    majority_at: list[int] = field(default_factory=list)
    """K of maj@K, for answers that the math reward compares; empty: all samples of a problem."""
    keeps_text: bool = True
    """false: the problems' text is not written into the result (GPQA asks for that)."""
    sampling: SamplingConfig = field(default_factory=lambda: SamplingConfig(top_p=0.95))
    """Recipe 7: temperature 1, top-p 0.95, top-k off, no cap beyond the context."""

    def __post_init__(self) -> None:
        count = self.sampling.samples_per_prompt
        for key, values in (("pass_at", self.pass_at), ("majority_at", self.majority_at)):
            for k in values:
                if not 1 <= k <= count:
                    raise ValueError(
                        f"{key} must be from 1 to sampling.samples_per_prompt={count}, got {k}"
                    )

    @property
    def ks(self) -> list[int]:
        """K of Pass@K, ascending."""
        count = self.sampling.samples_per_prompt
        powers = [2**exponent for exponent in range(count.bit_length()) if 2**exponent <= count]
        return sorted({1, *(self.pass_at or powers)})

    @property
    def majority_ks(self) -> list[int]:
        """K of maj@K, ascending."""
        return sorted(set(self.majority_at or [self.sampling.samples_per_prompt]))


@dataclass(frozen=True, kw_only=True)
class SamplingChanges:
    """What all benchmarks of a run have in place of their own; None: their own."""

    samples_per_prompt: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_completion_tokens: int | None = None
    max_error_share: float | None = None

    def __post_init__(self) -> None:
        for key in ("samples_per_prompt", "max_completion_tokens"):
            if getattr(self, key) is not None:
                require_at_least(f"sampling.{key}", getattr(self, key), 1)
        if self.temperature is not None:
            require_above("sampling.temperature", self.temperature, 0)
        for key in ("top_p", "max_error_share"):
            if getattr(self, key) is not None:
                require_within(f"sampling.{key}", getattr(self, key), 0, 1)
