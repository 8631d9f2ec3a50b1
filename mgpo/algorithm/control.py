"""The control run: rewards that say nothing about their completion."""

import random
from collections.abc import Sequence
from dataclasses import replace

from mgpo.types import Group


def permute_outcomes(groups: Sequence[Group], seed: int, step: int) -> list[Group]:
    """Return the groups with outcomes (and rewards) permuted over the whole batch.

    Length, truncation and everything else of a sample stay: what a policy gains under this is
    what it gains without a learning signal.
    """
    samples = [sample for group in groups for sample in group.samples]
    verdicts = [(sample.outcome, sample.reward) for sample in samples]
    random.Random(f"permute-{seed}-{step}").shuffle(verdicts)
    permuted = iter(
        replace(sample, outcome=outcome, reward=reward)
        for sample, (outcome, reward) in zip(samples, verdicts, strict=True)
    )
    return [
        replace(group, samples=tuple(next(permuted) for _ in group.samples)) for group in groups
    ]
