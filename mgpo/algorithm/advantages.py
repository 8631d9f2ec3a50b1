"""From verdicts to weighted advantages (MGPO reports; a group is the unit throughout)."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from mgpo.algorithm.group_stats import (
    group_accuracy,
    is_flat,
    is_without_gradient,
    prior_accuracy,
)
from mgpo.algorithm.mgpo_weight import mgpo_weight
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.errors import UserError
from mgpo.types import Group

_MIN_SAMPLES = 2


def drop_small_groups(groups: Sequence[Group]) -> tuple[list[Group], int]:
    """Return the groups with at least two valid samples, and the number of the others."""
    kept = [group for group in groups if len(group.samples) >= _MIN_SAMPLES]
    return kept, len(groups) - len(kept)


def weigh_groups(groups: Sequence[Group], config: AlgorithmConfig) -> list[Group]:
    """Set accuracy, weight, flatness and every sample's advantage."""
    return [_weigh(group, config) for group in groups]


def _weigh(group: Group, config: AlgorithmConfig) -> Group:
    """A_i = w ((r_i - mean r) / (std r + floor)), ddof 1; exactly 0 in a flat group, unless
    Long2Short has moved its rewards apart.

    The weight multiplies the normalised advantage: as a factor on the rewards it would cancel.
    Multiplying last keeps w = 1 equal to GRPO to the bit.
    """
    if config.accuracy_source == "prior":
        accuracy = prior_accuracy(group.prompt)
    else:
        accuracy = group_accuracy(group.samples)
    if config.gamma > 0 and not 0 <= accuracy <= 1:
        raise UserError(
            f"prompt {group.prompt.id}: its graded rewards have the mean {accuracy:g}, but the "
            "MGPO weight needs one from 0 to 1; scale the reward, or set algorithm.gamma=0 "
            "(plain GRPO)"
        )
    weight = mgpo_weight(accuracy, config.gamma, config.target_accuracy)
    rewards = [sample.reward for sample in group.samples]
    mean = fmean(rewards)
    spread = 0.0 if is_without_gradient(group.samples) else stdev(rewards) + config.std_floor
    samples = tuple(
        replace(sample, advantage=weight * ((sample.reward - mean) / spread) if spread else 0.0)
        for sample in group.samples
    )
    return replace(
        group,
        samples=samples,
        group_accuracy=accuracy,
        mgpo_weight=weight,
        is_flat=is_flat(group.samples),
    )
