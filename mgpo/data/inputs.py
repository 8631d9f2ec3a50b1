"""What a stage reads before it starts anything: all rows, checked and encoded."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgpo.config.errors import ConfigError
from mgpo.config.stages import RlConfig, SftConfig, StageConfig
from mgpo.data.chat import ChatEncoder, SftExample
from mgpo.data.limits import Length, check_examples, check_prompts, token_limits
from mgpo.data.model_files import ModelFacts, is_hub_name, read_model_facts
from mgpo.data.prior_accuracy import check_prior_accuracy
from mgpo.data.rows import Row, SftRow, load_rows, load_sft_rows
from mgpo.data.sampler import prompt_indices
from mgpo.types import Prompt


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
        """Every reward that grades something, in alphabetical order."""
        return sorted({row.reward for row in (*self.tasks, *self.held_out)})


@dataclass(frozen=True, kw_only=True, slots=True)
class StageInputs:
    """The rows of a stage as token ids."""

    encoder: ChatEncoder
    reward_names: Sequence[str]
    prompts_per_step: int
    prompts: Sequence[Prompt]
    """To train on by reinforcement learning; empty in a supervised stage."""
    examples: Sequence[SftExample]
    """To train on under supervision; empty in a reinforcement-learning stage."""
    eval_prompts: Sequence[Prompt]
    canary_prompts: Sequence[Prompt]
    """Training prompts that prove each push of weights."""

    def train_prompts(self, seed: int, step: int) -> list[Prompt]:
        """Return the prompts of a step, counted from 0."""
        indices = prompt_indices(len(self.prompts), self.prompts_per_step, seed, step)
        return [self.prompts[index] for index in indices]

    def sft_examples(self, seed: int, step: int, count: int) -> list[SftExample]:
        """Return the `count` examples of a step, counted from 0."""
        indices = prompt_indices(len(self.examples), count, seed, step)
        return [self.examples[index] for index in indices]


def load_inputs(config: StageConfig) -> StageInputs:
    """Read, check and encode everything a stage needs, and start nothing.

    Raises ConfigError or DataError with one clear line.
    """
    is_hub_name(config.model.path)
    rows = load_stage_rows(config)
    return encode_rows(
        config, rows, ChatEncoder(config.model.path), read_model_facts(config.model.path)
    )


def load_stage_rows(config: StageConfig) -> StageRows:
    """Read the rows of a stage and check every field that it needs; the tokenizer comes later."""
    data = config.data
    tasks = load_rows(data.train, data) if isinstance(config, RlConfig) else []
    worked = load_sft_rows(data.train, data) if isinstance(config, SftConfig) else []
    if isinstance(config, RlConfig) and config.algorithm.accuracy_source == "prior":
        check_prior_accuracy(tasks)
    held_out = load_rows(data.eval, data) if data.eval is not None else []
    return StageRows(tasks=tasks, worked=worked, held_out=held_out[: config.eval.max_prompts])


def encode_rows(
    config: StageConfig, rows: StageRows, encoder: ChatEncoder, model: ModelFacts
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
