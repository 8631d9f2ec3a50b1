"""Everything that moves a reward away from its verdict, in one order, and what it did."""

from collections.abc import Sequence

from mgpo.algorithm.length_reward import length_metrics, shape_by_length
from mgpo.algorithm.overlong import overlong_metrics, penalize_overlong
from mgpo.config.training import RlConfig
from mgpo.types import Group


def shape_rewards(groups: Sequence[Group], config: RlConfig) -> list[Group]:
    """Move rewards by Long2Short and by the overlong penalty, as far as the stage has them.

    The two add up and do not read each other. Accuracy, weight and flatness read neither.
    """
    groups = shape_by_length(groups, config.length_reward)
    return penalize_overlong(groups, config.overlong, config.rollout.max_completion_tokens)


def shaping_metrics(groups: Sequence[Group], config: RlConfig) -> dict[str, float]:
    """Return the metrics of the shapings that are on, from weighed groups."""
    return {
        **(length_metrics(groups) if config.length_reward.lambda_ else {}),
        **(overlong_metrics(groups) if config.overlong.buffer_tokens else {}),
    }
