"""From a filter's name to what it decides about the rows that are left."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property, partial

from mgpo.cluster import Cluster
from mgpo.config.filters import FilterConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.quality.accuracy import AllOrNone, EasyPrompt, FewTokens
from mgpo.data.quality.copies import find_copies
from mgpo.data.quality.degeneration import RepetitiveResponse, UnfinishedResponse
from mgpo.data.quality.prompts import find_duplicate_prompts
from mgpo.data.quality.types import Filter
from mgpo.data.row_store import RemainingRows
from mgpo.data.rows import has_verifier
from mgpo.stages.filtering.accuracy import judge_prompts
from mgpo.stages.filtering.outcomes import Decisions
from mgpo.stages.filtering.row_filters import (
    judge_each,
    judge_overlaps,
    judge_strata,
    judge_together,
)
from mgpo.stages.filtering.verification import judge_responses
from mgpo.stages.sampler import open_grading
from mgpo.tracking.run_dir import RunDir
from rewards.requests import reward_names
from rewards.service import RewardService


class Filters:
    """The filters of a run. Ray, models and tokenizers start when the first filter needs them, and
    end with `stack`."""

    def __init__(self, config: FilterConfig, run_dir: RunDir, stack: ExitStack) -> None:
        self._config = config
        self._samples_dir = run_dir.samples_dir
        self._stack = stack
        self._grading: tuple[Cluster, RewardService] | None = None
        self._decide: Mapping[str, Callable[[RemainingRows], Decisions]] = {
            "response": self._response,
            "repetition": self._repetition,
            "duplicate_prompts": partial(judge_together, find=find_duplicate_prompts),
            "copies": self._copies,
            "decontaminate": self._decontaminate,
            "verify": self._verify,
            "accuracy": self._accuracy,
            "all_or_none": lambda rows: judge_each(rows, AllOrNone()),
            "hard_rows": self._hard_rows,
            "strata": self._strata,
        }

    def decide(self, name: str, rows: RemainingRows) -> Decisions:
        """Yield what a filter decides, row after row. Raises UserError."""
        return self._decide[name](rows)

    def _response(self, rows: RemainingRows) -> Decisions:
        assert self._config.filters.response is not None
        return judge_each(rows, UnfinishedResponse(self._config.filters.response))

    def _repetition(self, rows: RemainingRows) -> Decisions:
        assert self._config.filters.repetition is not None
        return judge_each(rows, RepetitiveResponse(self._config.filters.repetition))

    def _copies(self, rows: RemainingRows) -> Decisions:
        config = self._config.filters.copies
        assert config is not None
        return judge_together(rows, lambda every: find_copies(every, config))

    def _decontaminate(self, rows: RemainingRows) -> Decisions:
        assert self._config.filters.decontaminate is not None
        return judge_overlaps(rows, self._config.filters.decontaminate)

    def _verify(self, rows: RemainingRows) -> Decisions:
        config = self._config.filters.verify
        assert config is not None
        _, rewards = self._start_grading(rows)
        return judge_responses(rows, config, rewards, self._samples_dir / "verify.jsonl")

    def _accuracy(self, rows: RemainingRows) -> Decisions:
        config = self._config.filters.accuracy
        assert config is not None
        grading = self._start_grading(rows)
        path = self._samples_dir / "accuracy.jsonl"
        return judge_prompts(rows, self._config, config, grading, path)

    def _hard_rows(self, rows: RemainingRows) -> Decisions:
        config = self._config.filters.hard_rows
        assert config is not None
        filters: list[Filter] = []
        if config.min_error_rate is not None:
            filters.append(EasyPrompt(config.min_error_rate, has_verifier))
        if config.min_response_tokens is not None:
            filters.append(FewTokens(config.min_response_tokens, self._encoder.count_tokens))
        return judge_each(rows, *filters)

    def _strata(self, rows: RemainingRows) -> Decisions:
        config = self._config.filters.strata
        assert config is not None
        length_of = len if self._config.tokenizer is None else self._encoder.count_tokens
        return judge_strata(rows, config, length_of, self._config.run.seed)

    @cached_property
    def _encoder(self) -> ChatEncoder:
        assert self._config.tokenizer is not None
        return ChatEncoder(self._config.tokenizer)

    def _start_grading(self, rows: RemainingRows) -> tuple[Cluster, RewardService]:
        if self._grading is None:
            verifiable = (record for _, record in rows.records() if has_verifier(record.values))
            tasks = (rows.task(record) for record in verifiable)
            names = {name for task in tasks for name in reward_names(task.reward, task.reference)}
            stage = self._config.sampling_stage(SamplingConfig())
            self._grading = self._stack.enter_context(open_grading(stage, sorted(names)))
        return self._grading
