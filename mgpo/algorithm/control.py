"""The control run: rewards that say nothing about their completion."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mgpo.types import Group, Sample
from rewards.types import Outcome


def permute_outcomes(groups: Sequence[Group], seed: int, step: int) -> list[Group]:
    """Return the groups with outcomes (and rewards) permuted over the whole batch.

    Length and everything else of a sample stay; a truncated one stays wrong. What a policy gains
    under this is what it gains without a learning signal.
    """
    verdicts = [
        (sample.outcome, sample.reward)
        for group in groups
        for sample in group.samples
        if not sample.completion.is_truncated
    ]
    random.Random(f"permute-{seed}-{step}").shuffle(verdicts)
    permuted = iter(verdicts)
    return [
        replace(group, samples=tuple(_with_verdict(s, permuted) for s in group.samples))
        for group in groups
    ]


def _with_verdict(sample: Sample, verdicts: Iterator[tuple[Outcome, float]]) -> Sample:
    if sample.completion.is_truncated:
        return sample
    outcome, reward = next(verdicts)
    return replace(sample, outcome=outcome, reward=reward)
