"""Samples as the learner takes them: exactly the tokens that were sampled."""

from collections.abc import Iterable
from dataclasses import dataclass

from mgpo.types import Group


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRow:
    """Prompt and completion tokens with what each completion is worth."""

    token_ids: tuple[int, ...]
    """Prompt, then completion."""
    prompt_len: int
    rollout_logprobs: tuple[float, ...] = ()
    """The engine's log-probability of each completion token; empty in supervised training."""
    old_logprobs: tuple[float, ...] | None = None
    """The learner's before the first update of the batch; None: take the current ones, detached."""
    advantage: float = 0.0
    is_trained: bool = True
    """False leaves the whole row out of the loss."""

    @property
    def num_trained_tokens(self) -> int:
        """Completion tokens that carry a loss."""
        return len(self.token_ids) - self.prompt_len if self.is_trained else 0


def rows_from_groups(groups: Iterable[Group], *, mask_truncated: bool) -> list[list[TrainingRow]]:
    """Return the training rows of each group, those of flat groups included."""
    return [
        [
            TrainingRow(
                token_ids=sample.prompt.token_ids + sample.completion.token_ids,
                prompt_len=len(sample.prompt.token_ids),
                rollout_logprobs=sample.completion.rollout_logprobs,
                advantage=sample.advantage,
                is_trained=not (mask_truncated and sample.completion.is_truncated),
            )
            for sample in group.samples
        ]
        for group in groups
    ]
