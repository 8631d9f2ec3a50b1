"""What grading an evaluation needs beyond the settings of the rewards."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mgpo.data.rows import Row
from rewards.config import RewardConfig
from rewards.requests import graded_parts

logger = logging.getLogger(__name__)

_CLOCK_PER_CPU = 4.0
"""The sandbox gives a program so much time on the clock per second of `total_time_limit_s`."""
_SLACK_S = 30.0


def with_time_for_programs(config: RewardConfig, rows: Sequence[Row]) -> RewardConfig:
    """Return the settings with a deadline of `code` that lets every program use its own limit,
    alone or as a part of a sum.

    A program that runs into the deadline has no verdict, where one at its limit is wrong.
    """
    limits = [
        reference["total_time_limit_s"]
        for row in rows
        for name, reference in graded_parts(row.reward, row.reference)
        if name == "code" and isinstance(reference, Mapping) and "total_time_limit_s" in reference
    ]
    needed_s = _CLOCK_PER_CPU * max(limits, default=0.0) + _SLACK_S
    if not limits or config.deadline_s("code") >= needed_s:
        return config
    logger.info("reward.timeouts_s.code: %.0f s, what the programs' limits need", needed_s)
    return replace(config, timeouts_s={**config.timeouts_s, "code": needed_s})
