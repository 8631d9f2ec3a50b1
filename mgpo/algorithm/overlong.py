"""Soft overlong punishment (DAPO, Yu et al. 2025, eq. 13): a shaping of the reward, no verdict.

With L_max allowed tokens, a buffer of B and a length L, the reward changes by
-factor x min(1, max(0, (L - (L_max - B)) / B)).
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from mgpo.config.overlong import OverlongConfig
from mgpo.types import Group, Sample


def penalize_overlong(
    groups: Sequence[Group], config: OverlongConfig, max_completion_tokens: int
) -> list[Group]:
    """Set every sample's `overlong_shift` and move its reward by it."""
    if not config.buffer_tokens:
        return list(groups)
    return [
        replace(
            group,
            samples=tuple(_shaped(each, config, max_completion_tokens) for each in group.samples),
        )
        for group in groups
    ]


def overlong_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Return how many samples of a batch lost reward, and how much on average over all."""
    shifts = [sample.overlong_shift for group in groups for sample in group.samples]
    if not shifts:
        return {}
    return {
        "reward/overlong_share": fmean(float(shift < 0) for shift in shifts),
        "reward/overlong_shift_mean": fmean(shifts),
    }


def _shaped(sample: Sample, config: OverlongConfig, max_completion_tokens: int) -> Sample:
    length = len(sample.completion.token_ids)
    excess = length - (max_completion_tokens - config.buffer_tokens)
    if excess <= 0:
        return sample
    shift = -config.factor * min(1.0, excess / config.buffer_tokens)
    return replace(sample, overlong_shift=shift, reward=sample.reward + shift)
