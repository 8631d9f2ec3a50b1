"""What `mgpo filter` reads and which filters it applies (docs/data.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from omegaconf import MISSING

from mgpo.config.data import RowsConfig
from mgpo.config.quality import (
    CopiesConfig,
    HardRowsConfig,
    RepetitionConfig,
    ResponseConfig,
    StrataConfig,
)
from mgpo.config.ranges import require_at_least, require_within
from mgpo.config.rollout import EngineConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.stage import SamplingStageConfig, StageConfig
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class SourcesConfig(RowsConfig):
    """The rows that a stage reads, of one source or several."""

    sources: list[str] = MISSING
    """Files or hub datasets, each written as `data.train` is; read one after the other."""

    def __post_init__(self) -> None:
        require_at_least("the number of data.sources", len(self.sources), 1)


@dataclass(frozen=True, kw_only=True)
class DecontaminateConfig:
    """Rows that share words with an evaluation set are dropped, as by `mgpo decontaminate`."""

    against: list[str] = MISSING
    """Evaluation sets: files or hub datasets."""
    ngram: int = 10
    """Words in a row that may not be shared (report)."""
    fields: list[str] = field(default_factory=list)
    """Where evaluation sets have their text; empty: the usual names."""

    def __post_init__(self) -> None:
        require_at_least("the number of filters.decontaminate.against", len(self.against), 1)
        require_at_least("filters.decontaminate.ngram", self.ngram, 1)


@dataclass(frozen=True, kw_only=True)
class VerifyConfig:
    """Rows whose `response` its reward finds wrong are dropped; those that nothing can verify
    stay."""

    max_error_share: float = 0.01
    """Largest share of responses without a verdict; within it they are dropped, each listed."""

    def __post_init__(self) -> None:
        require_within("filters.verify.max_error_share", self.max_error_share, 0, 1)


@dataclass(frozen=True, kw_only=True)
class AccuracyConfig(SamplingConfig):
    """Each prompt's accuracy under a model, written into its rows."""

    section: ClassVar[str] = "filters.accuracy"
    model: str = MISSING
    """The checkpoint that the next stage starts from (or the reference model): a folder or hub
    name."""
    samples_per_prompt: int = 8
    """Completions per prompt (report, SFT stage 2)."""
    drop_all_or_none: bool = True
    """Then drop rows whose accuracy is exactly 0 or 1 (report: before each stage of RL)."""


@dataclass(frozen=True, kw_only=True)
class FiltersConfig:
    """The filters; one that is absent is off, `{}` switches it on with its defaults."""

    order: list[str] | None = None
    """Names of all filters that are on, as they follow each other; None: as they stand here."""
    response: ResponseConfig | None = None
    repetition: RepetitionConfig | None = None
    duplicate_prompts: bool = False
    """Keep the first row of each prompt; for data with one row a prompt."""
    copies: CopiesConfig | None = None
    decontaminate: DecontaminateConfig | None = None
    verify: VerifyConfig | None = None
    accuracy: AccuracyConfig | None = None
    all_or_none: bool = False
    """Drop rows that bring an `accuracy` of exactly 0 or 1; `accuracy` does it by itself."""
    hard_rows: HardRowsConfig | None = None
    strata: StrataConfig | None = None

    def __post_init__(self) -> None:
        if self.order is not None and sorted(self.order) != sorted(self._switched_on()):
            raise ValueError(
                f"filters.order must name each filter that is on once "
                f"({', '.join(self._switched_on())}), got {list(self.order)}"
            )

    @property
    def names(self) -> Sequence[str]:
        """The filters that are on, in the order in which they are applied."""
        return self._switched_on() if self.order is None else self.order

    @property
    def written_fields(self) -> list[str]:
        """The fields that the filters write into rows."""
        accuracy = ["accuracy", "accuracy_n", "accuracy_model"] if self.accuracy else []
        return [*accuracy, *(["length_stratum", "difficulty_stratum"] if self.strata else [])]

    @property
    def known_names(self) -> list[str]:
        """Every filter, on or off."""
        return list(self._sections())

    def _sections(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "order"}

    def _switched_on(self) -> list[str]:
        return [name for name, value in self._sections().items() if value not in (None, False)]


@dataclass(frozen=True, kw_only=True)
class FilterConfig(StageConfig):
    """`mgpo filter`: rows good enough to train on."""

    fixed_keys: ClassVar[tuple[str, ...]] = (
        *("stage", "run.seed", "data", "filters", "tokenizer", "dtype"),
        *("reward.options", "reward.correct_threshold"),
    )
    stage: Literal["filter"] = "filter"
    data: SourcesConfig = field(default_factory=SourcesConfig)
    filters: FiltersConfig = field(default_factory=FiltersConfig)
    tokenizer: str | None = None
    """Model whose tokenizer counts the tokens of responses, for `hard_rows` and `strata`; None:
    `strata` counts characters."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of the model that `accuracy` samples."""
    rollout: EngineConfig = field(default_factory=EngineConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)

    def __post_init__(self) -> None:
        if not self.filters.names:
            known = ", ".join(self.filters.known_names)
            raise ValueError(f"filters: none is on; switch one on with {{}}; there are {known}")
        hard = self.filters.hard_rows
        if hard is not None and hard.min_response_tokens is not None and self.tokenizer is None:
            raise ValueError(
                "filters.hard_rows.min_response_tokens counts tokens: set tokenizer to the model "
                "that is to be trained"
            )
        taken = [name for name in self.filters.written_fields if name in self.data.columns]
        if taken:
            raise ValueError(
                f"data.columns maps {', '.join(taken)}, which the filters write into the rows; "
                "rename the columns of the data"
            )

    def sampling_stage(self, sampling: SamplingConfig) -> SamplingStageConfig:
        """Return how rewards are started, and models sampled."""
        return SamplingStageConfig(
            run=self.run,
            dtype=self.dtype,
            rollout=self.rollout,
            reward=self.reward,
            sampling=sampling,
        )

    def data_sources(self) -> dict[str, str]:
        """Return the rows, and the evaluation sets that they are held against."""
        against = self.filters.decontaminate.against if self.filters.decontaminate else []
        return {
            **{f"data.sources[{i}]": source for i, source in enumerate(self.data.sources)},
            **{f"filters.decontaminate.against[{i}]": each for i, each in enumerate(against)},
        }

    def model_sources(self) -> dict[str, str]:
        """Return the model whose accuracy is measured, and the one whose tokens are counted."""
        accuracy = self.filters.accuracy
        named = {
            "filters.accuracy.model": accuracy.model if accuracy else None,
            "tokenizer": self.tokenizer,
        }
        return {key: model for key, model in named.items() if model is not None}

    def artifacts(self) -> dict[str, Path]:
        """Return the kept rows."""
        return {"rows": self.run.path / "rows.jsonl"}
