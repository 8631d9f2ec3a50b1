"""The data that travels: Prompt, Completion, Sample, Group. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewards.types import Outcome

FinishReason = Literal["stop", "length", "abort"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A task as given."""

    id: str
    messages: tuple[Mapping[str, str], ...]
    """Chat messages, each {role, content}; a plain string in the row is one user message."""
    token_ids: tuple[int, ...]
    """The rendered chat template with its generation prompt: what the engine is given."""
    domain: str
    reward: str
    """Name of the reward that grades the completions."""
    reference: Any
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Every further field of the row, handed to the reward as it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """The tokens that one generation produced."""

    token_ids: tuple[int, ...]
    """Sampled ids, the end-of-sequence token included when it was sampled."""
    rollout_logprobs: tuple[float, ...]
    """The engine's log-probability of each sampled id, under the distribution it sampled from."""
    finish_reason: FinishReason
    policy_version: int
    text: str
    """Decoded without special tokens; for rewards and people, never for the learner."""

    @property
    def is_truncated(self) -> bool:
        """Whether the length limit ended it."""
        return self.finish_reason == "length"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One training row: a prompt, a completion, its verdict and what it is worth."""

    prompt: Prompt
    completion: Completion
    outcome: Outcome
    reward: float = 0.0
    """The number trained on: the outcome's value, shaped or not. Accuracy never reads it."""
    length_shift: float = 0.0
    """What Long2Short has added to the reward."""
    overlong_shift: float = 0.0
    """What the overlong penalty has added to the reward, at most 0."""
    advantage: float = 0.0
    """Normalised inside the group, times the group's MGPO weight."""

    @property
    def is_correct(self) -> bool:
        """The verdict; a truncated completion is wrong whatever its text says."""
        return self.outcome.correct and not self.completion.is_truncated

    @property
    def value(self) -> float:
        """The unshaped value; a truncated completion earns 0 at most."""
        value = self.outcome.value
        return min(0.0, value) if self.completion.is_truncated else value


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """All samples of one prompt with a verdict. Immutable: each step of the algorithm makes a new
    one."""

    prompt: Prompt
    samples: tuple[Sample, ...]
    """Valid samples only, in the order of their sample index."""
    num_errors: int = 0
    """Samples that left the group because their grading failed."""
    group_accuracy: float | None = None
    mgpo_weight: float | None = None
    is_flat: bool = False
    """All unshaped values are equal: the group gives no gradient, but for Long2Short's."""
