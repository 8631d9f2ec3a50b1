"""What a stage reads before it starts anything: all rows, checked and encoded."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mgpo.config.errors import ConfigError, DataError
from mgpo.config.training import RlConfig, SftConfig, TrainingConfig
from mgpo.data.chat import ChatEncoder, SftExample
from mgpo.data.domain_mix import check_domain_weights, weighted_indices
from mgpo.data.limits import Length, check_examples, check_prompts, token_limits
from mgpo.data.model_files import ModelFacts, is_hub_name, read_model_facts
from mgpo.data.prior_accuracy import check_prior_accuracy
from mgpo.data.rows import Row, SftRow, load_rows, load_sft_rows
from mgpo.data.sampler import prompt_indices, sequence_part
from mgpo.types import Prompt
from rewards.config import RewardConfig
from rewards.registry import resolve
from rewards.requests import check_request, reward_names
from rewards.types import ScoreRequest

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRows:
    """The rows of a stage, before the model's tokenizer has seen them."""

    tasks: Sequence[Row]
    """To train on by reinforcement learning."""
    worked: Sequence[SftRow]
    """To train on under supervision."""
    held_out: Sequence[Row]

    @property
    def reward_names(self) -> list[str]:
        """As `every_reward` of what is graded."""
        return every_reward([*self.tasks, *self.held_out])


@dataclass(frozen=True, kw_only=True, slots=True)
class StageInputs:
    """The rows of a stage as token ids."""

    encoder: ChatEncoder
    reward_names: Sequence[str]
    prompts_per_step: int
    max_refill_prompts: int
    domain_weights: Mapping[str, float]
    """Empty: prompts come as the rows are."""
    prompts: Sequence[Prompt]
    """To train on by reinforcement learning; empty in a supervised stage."""
    examples: Sequence[SftExample]
    """To train on under supervision; empty in a reinforcement-learning stage."""
    eval_prompts: Sequence[Prompt]
    canary_prompts: Sequence[Prompt]
    """Training prompts that prove each push of weights."""

    def train_prompts(self, seed: int, step: int) -> list[Prompt]:
        """Return the prompts of a step, counted from 0."""
        return self._draw(self.prompts_per_step, seed, step, stream="epoch")

    def refill_prompts(self, seed: int, step: int) -> list[Prompt]:
        """Return the further prompts that a step may use, at most `max_refill_prompts`.

        They follow an order of their own; those that the step has already are left out.
        """
        own = {prompt.id for prompt in self.train_prompts(seed, step)}
        drawn = self._draw(self.max_refill_prompts, seed, step, stream="refill")
        further = {prompt.id: prompt for prompt in drawn if prompt.id not in own}
        # Only the first are sampled as a rule: every domain must be among them.
        order = sequence_part(len(further), 0, len(further), stream=f"spares|{seed}|{step}")
        prompts = list(further.values())
        return [prompts[index] for index in order]

    def _draw(self, count: int, seed: int, step: int, *, stream: str) -> list[Prompt]:
        if self.domain_weights:
            domains = [prompt.domain for prompt in self.prompts]
            indices = weighted_indices(
                domains, self.domain_weights, count, seed, step, stream=stream
            )
        else:
            indices = prompt_indices(len(self.prompts), count, seed, step, stream=stream)
        return [self.prompts[index] for index in indices]


def load_inputs(config: TrainingConfig) -> StageInputs:
    """Read, check and encode everything a stage needs, and start nothing.

    Raises ConfigError or DataError with one clear line.
    """
    is_hub_name(config.model.path)
    rows = load_stage_rows(config)
    model = config.model
    facts = read_model_facts(model.path, model.rope)
    return encode_rows(config, rows, ChatEncoder(model.path), facts)


def load_stage_rows(config: TrainingConfig) -> StageRows:
    """Read the rows of a stage and check every field that it needs; the tokenizer comes later."""
    data = config.data
    tasks = load_rows(data.train, data) if isinstance(config, RlConfig) else []
    worked = load_sft_rows(data.train, data) if isinstance(config, SftConfig) else []
    if isinstance(config, RlConfig) and config.algorithm.accuracy_source == "prior":
        check_prior_accuracy(tasks)
    if isinstance(config, RlConfig):
        check_domain_weights(tasks, data.domain_weights)
    held_out = load_rows(data.eval, data) if data.eval is not None else []
    rows = StageRows(tasks=tasks, worked=worked, held_out=held_out[: config.eval.max_prompts])
    check_rewards((*rows.tasks, *rows.held_out), config.reward)
    if len(tasks) + len(worked) == 1:
        logger.warning(
            "data.train %s has one row only: each step repeats it, and nothing else is learned",
            data.train,
        )
    return rows


def every_reward(rows: Sequence[Row]) -> list[str]:
    """Return every reward that grades a row, alone or in a sum, in alphabetical order."""
    parts = {name for row in rows for name in reward_names(row.reward, row.reference)}
    return sorted({row.reward for row in rows} | parts)


def check_rewards(rows: Sequence[Row], config: RewardConfig) -> None:
    """Raise DataError for a row whose reward does not exist, or could not grade it; ConfigError for
    options of a reward that does not exist."""
    for name in config.options:
        try:
            resolve(name)
        except ValueError as error:
            raise ConfigError(f"reward.options.{name}: {error}") from error
    for row in rows:
        field = "reward"
        try:
            resolve(row.reward)
            field = "reference"
            check_request(_request_of(row), config)
        except ValueError as error:
            raise DataError(f"{row.where}, field {field}: {error}") from error


def _request_of(row: Row) -> ScoreRequest:
    return ScoreRequest(reward=row.reward, response="", reference=row.reference, fields=row.fields)


def encode_rows(
    config: TrainingConfig, rows: StageRows, encoder: ChatEncoder, model: ModelFacts
) -> StageInputs:
    """Encode the rows and hold every length against the model's context and the token budget."""
    if encoder.vocab_size > model.vocab_size:
        raise ConfigError(
            f"model.path {config.model.path}: the tokenizer has {encoder.vocab_size} ids, but the "
            f"model embeds only {model.vocab_size}; they do not belong together"
        )
    limits = token_limits(config, model)
    prompts = [encoder.encode_prompt(row) for row in rows.tasks]
    check_prompts(_lengths(prompts, rows.tasks), limits, is_trained=True)
    examples = [encoder.encode_sft(row) for row in rows.worked]
    check_examples(_lengths(examples, rows.worked), limits)
    eval_prompts = [encoder.encode_prompt(row) for row in rows.held_out]
    check_prompts(_lengths(eval_prompts, rows.held_out), limits, is_trained=False)
    canaries = prompts or _prompts_of(examples, rows.worked)
    return StageInputs(
        encoder=encoder,
        reward_names=rows.reward_names,
        prompts_per_step=config.data.prompts_per_step,
        max_refill_prompts=config.data.max_refill_prompts,
        domain_weights=config.data.domain_weights,
        prompts=prompts,
        examples=examples,
        eval_prompts=eval_prompts,
        canary_prompts=canaries[: config.weight_sync.num_canaries],
    )


def _lengths(encoded: Sequence[Prompt | SftExample], rows: Sequence[Row | SftRow]) -> list[Length]:
    return [(len(item.token_ids), row.where) for item, row in zip(encoded, rows, strict=True)]


def _prompts_of(examples: Sequence[SftExample], rows: Sequence[SftRow]) -> list[Prompt]:
    return [
        Prompt(
            id=example.id,
            messages=row.messages,
            token_ids=example.token_ids[: example.prompt_len],
            domain="",
            reward="",
            reference=None,
        )
        for example, row in zip(examples, rows, strict=True)
    ]
