"""The sizes of a reinforcement-learning stage's batches that follow from its configuration and its
data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mgpo.config.errors import ConfigError
from mgpo.config.training import RlConfig
from mgpo.data.inputs import StageInputs
from mgpo.data.packing import plan_microbatches
from mgpo.diagnostics.tables import format_table


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchPlan:
    """Sizes of one step and of the whole run."""

    num_rows: int | None
    """None: not known before a download."""
    rows_per_step: int
    """Prompts of a step."""
    group_size: int
    """Completions per prompt."""
    updates_per_step: int
    max_tokens_per_sample: int
    token_budget: int
    num_ranks: int
    microbatches_at_longest: int
    """Micro-batches per rank and update if every sample had `max_tokens_per_sample`."""
    microbatches_of_first_step: int
    """The same for the rows of the first step, their completions at full length."""
    steps: int

    @property
    def samples_per_step(self) -> int:
        """Training rows of a step."""
        return self.rows_per_step * self.group_size

    @property
    def samples_per_update(self) -> int:
        """Training rows of the largest update of a step; whole groups stay together."""
        return math.ceil(self.rows_per_step / self.updates_per_step) * self.group_size

    @property
    def total_updates(self) -> int:
        """Optimizer updates of the run."""
        return self.steps * self.updates_per_step

    @property
    def epochs(self) -> float | None:
        """How often the run goes over the data."""
        if self.num_rows is None:
            return None
        return self.steps * self.rows_per_step / self.num_rows


def plan_batches(config: RlConfig, inputs: StageInputs) -> BatchPlan:
    """Derive the batches of a stage from its configuration and the lengths of its rows."""
    completion = config.rollout.max_completion_tokens
    return _plan(
        config,
        lengths=[len(prompt.token_ids) + completion for prompt in inputs.prompts],
        first_step=[
            len(prompt.token_ids) + completion
            for prompt in inputs.train_prompts(config.run.seed, 0)
        ],
    )


def plan_longest_batches(config: RlConfig, max_prompt_tokens: int) -> BatchPlan:
    """Derive the batches of a stage whose data is not at hand, every prompt at the limit."""
    longest = max_prompt_tokens + config.rollout.max_completion_tokens
    if longest > config.learner.max_tokens_per_microbatch:
        raise ConfigError(
            f"learner.max_tokens_per_microbatch={config.learner.max_tokens_per_microbatch} is too "
            f"small: data.max_prompt_tokens={max_prompt_tokens} and rollout.max_completion_tokens="
            f"{config.rollout.max_completion_tokens} make a sample of {longest}"
        )
    plan = _plan(
        config,
        lengths=[longest],
        first_step=[longest] * config.data.prompts_per_step,
    )
    return replace(plan, num_rows=None)


def batch_table(plan: BatchPlan) -> str:
    """Return the plan as aligned lines."""
    lines = [
        ("prompts in the data", _known(plan.num_rows, ",")),
        ("prompts per step", f"{plan.rows_per_step:,}"),
        ("completions per prompt", f"{plan.group_size:,}"),
        ("samples per step", f"{plan.samples_per_step:,}"),
        ("updates per step", f"{plan.updates_per_step:,}"),
        ("samples per update", f"{plan.samples_per_update:,}"),
        ("tokens of the longest sample", f"{plan.max_tokens_per_sample:,}"),
        ("tokens per micro-batch, at most", f"{plan.token_budget:,}"),
        ("learner ranks", f"{plan.num_ranks:,}"),
        ("micro-batches per rank, all longest", f"{plan.microbatches_at_longest:,}"),
        ("micro-batches per rank, first step", f"{plan.microbatches_of_first_step:,}"),
        ("steps", f"{plan.steps:,}"),
        ("epochs over the data", _known(plan.epochs, ".2f")),
    ]
    return format_table(lines)


def _known(value: float | None, form: str) -> str:
    return "not known" if value is None else format(value, form)


def _plan(config: RlConfig, *, lengths: Sequence[int], first_step: Sequence[int]) -> BatchPlan:
    learner = config.learner
    group_size, updates_per_step = config.rollout.group_size, learner.updates_per_batch
    budget, num_ranks = learner.max_tokens_per_microbatch, learner.num_ranks
    longest = max(lengths)
    first_update = [length for length in first_step[::updates_per_step] for _ in range(group_size)]
    samples_per_rank = math.ceil(len(first_update) / num_ranks)
    return BatchPlan(
        num_rows=len(lengths),
        rows_per_step=len(first_step),
        group_size=group_size,
        updates_per_step=updates_per_step,
        max_tokens_per_sample=longest,
        token_budget=budget,
        num_ranks=num_ranks,
        microbatches_at_longest=math.ceil(samples_per_rank / (budget // longest)),
        microbatches_of_first_step=len(plan_microbatches(first_update, budget, num_ranks)[0]),
        steps=config.steps,
    )
