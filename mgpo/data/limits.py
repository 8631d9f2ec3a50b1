"""Every sequence must fit the model's context and the learner's token budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgpo.config.errors import ConfigError, DataError
from mgpo.config.rollout import EngineConfig
from mgpo.config.training import TrainingConfig
from mgpo.data.model_files import ModelFacts

Length = tuple[int, str]
"""Tokens of a prompt or an example, and the row it comes from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLimits:
    """The numbers that a sequence is held against."""

    context: int | None
    context_from: str
    """Where the context comes from, as messages say it."""
    max_prompt: int | None
    max_new: int
    """Tokens that may follow a prompt: a completion or a canary."""
    budget: int


def token_limits(config: TrainingConfig, model: ModelFacts) -> TokenLimits:
    """Return the limits of a stage. Raises ConfigError where two of them cannot both hold."""
    context, context_from = _context(config.rollout, model)
    return TokenLimits(
        context=context,
        context_from=context_from,
        max_prompt=config.data.max_prompt_tokens,
        max_new=max(config.rollout.max_completion_tokens, config.weight_sync.canary_tokens),
        budget=config.learner.max_tokens_per_microbatch,
    )


def check_prompts(lengths: Sequence[Length], limits: TokenLimits, *, is_trained: bool) -> None:
    """Raise DataError or ConfigError if a prompt and a full completion exceed a limit."""
    if not lengths:
        return
    longest, where = max(lengths)
    if limits.max_prompt is not None and longest > limits.max_prompt:
        raise DataError(
            f"{where}, field prompt: {longest} tokens, but data.max_prompt_tokens="
            f"{limits.max_prompt}; remove the row or raise the limit"
        )
    total = longest + limits.max_new
    sizes = f"the longest prompt ({longest} tokens, {where}) and {limits.max_new} new tokens"
    if limits.context is not None and total > limits.context:
        raise ConfigError(
            f"{sizes} (rollout.max_completion_tokens) exceed {limits.context_from}; "
            "lower rollout.max_completion_tokens or remove long prompts"
        )
    if is_trained and total > limits.budget:
        raise ConfigError(
            f"learner.max_tokens_per_microbatch={limits.budget} is too small: {sizes} "
            f"(rollout.max_completion_tokens) make a sample of {total}; raise the first to at "
            "least that or lower the second"
        )


def check_examples(lengths: Sequence[Length], limits: TokenLimits) -> None:
    """Raise DataError or ConfigError if a supervised example exceeds a limit."""
    if not lengths:
        return
    longest, where = max(lengths)
    if limits.context is not None and longest > limits.context:
        raise DataError(
            f"{where}: prompt and response have {longest} tokens, more than {limits.context_from}; "
            "remove the row"
        )
    if longest > limits.budget:
        raise ConfigError(
            f"learner.max_tokens_per_microbatch={limits.budget} is too small: {where} has "
            f"{longest} tokens; raise it to at least that or remove the row"
        )


def _context(rollout: EngineConfig, model: ModelFacts) -> tuple[int | None, str]:
    own, engine = model.context_tokens, rollout.max_model_len
    if engine is None:
        return own, f"the model's context of {own} tokens (max_position_embeddings)"
    if own is not None and engine > own:
        raise ConfigError(
            f"rollout.max_model_len={engine} is more than the model's context of {own} tokens "
            "(max_position_embeddings in its config.json)"
        )
    return engine, f"rollout.max_model_len={engine}"
