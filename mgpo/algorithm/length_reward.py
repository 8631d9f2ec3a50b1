"""Long2Short: among the right answers to a prompt, shorter ones are worth more.

Inside the correct set C of a group, with L_i tokens: s_i = 1 / L_i and
r'_i = r_i + lambda (s_i - mean_C s) / max_{j in C} |s_j - mean_C s|. The shifts of a group sum to
zero, so its mean reward stays; wrong samples stay (VibeThinker-3B report, Long2Short).
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from mgpo.config.errors import UserError
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.types import Group


def shape_by_length(groups: Sequence[Group], config: LengthRewardConfig) -> list[Group]:
    """Set every sample's `length_shift` and move its reward by it.

    Raises UserError for graded rewards: the correct set is one of verdicts.
    """
    return [_shaped(group, config) for group in groups] if config.lambda_ else list(groups)


def length_shifts(lengths: Sequence[int], lambda_: float) -> list[float]:
    """Return the shift of each of the right answers, whose `lengths` are in tokens."""
    shortness = [1 / length for length in lengths]
    mean = fmean(shortness)
    largest = max(abs(each - mean) for each in shortness)
    if len(set(lengths)) == 1:
        return [0.0] * len(lengths)
    return [lambda_ * ((each - mean) / largest) for each in shortness]


def length_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Return how much of a batch of weighed groups trains on length alone."""
    sizes = [
        (group.is_flat, sum(abs(sample.advantage) for sample in group.samples)) for group in groups
    ]
    whole = sum(size for _, size in sizes)
    alone = sum(size for is_flat, size in sizes if is_flat)
    return {"reward/length_only_advantage_share": alone / whole if whole else 0.0}


def _shaped(group: Group, config: LengthRewardConfig) -> Group:
    if any(sample.outcome.is_graded for sample in group.samples):
        raise UserError(
            f"prompt {group.prompt.id}: its reward is a number, but length_reward moves those of "
            "right answers; set length_reward.lambda_=0, or use a reward with verdicts"
        )
    right = [place for place, sample in enumerate(group.samples) if sample.is_correct]
    is_skipped = config.all_correct == "skip" and len(right) == len(group.samples)
    if len(right) < 2 or is_skipped:
        return group
    lengths = [len(group.samples[place].completion.token_ids) for place in right]
    shifts = dict(zip(right, length_shifts(lengths, config.lambda_), strict=True))
    samples = tuple(
        replace(sample, length_shift=shifts[place], reward=sample.reward + shifts[place])
        if place in shifts
        else sample
        for place, sample in enumerate(group.samples)
    )
    return replace(group, samples=samples)
