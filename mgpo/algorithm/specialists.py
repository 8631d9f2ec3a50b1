"""The specialist of a domain is the checkpoint with the highest Pass@K (arXiv 2511.06221)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from mgpo.algorithm.interval import mean_with_interval
from mgpo.algorithm.pass_at_k import pass_at_k

_DIGITS = 12
"""Decimals that count: means of the same problems in another order are equal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The samples of one problem that have a verdict."""

    num_samples: int
    num_correct: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A checkpoint on the problems of a domain: means, and 95 % intervals over problems."""

    pass_at_k: tuple[float, float, float]
    """Mean, low, high."""
    pass_at_1: tuple[float, float, float]


def measure(tallies: Sequence[Tally], k: int) -> Measured:
    """Return Pass@K and Pass@1 over problems, each with at least k samples."""
    return Measured(
        pass_at_k=mean_with_interval([pass_at_k(t.num_samples, t.num_correct, k) for t in tallies]),
        pass_at_1=mean_with_interval([t.num_correct / t.num_samples for t in tallies]),
    )


def find_specialist(checkpoints: Sequence[Sequence[Tally]], k: int) -> int:
    """Return the index of the checkpoint with the highest Pass@K.

    Each checkpoint gives its tallies of the same problems. A tie goes to the higher Pass@1, then to
    the later checkpoint.
    """

    def rank(index: int) -> tuple[float, float, int]:
        tallies = checkpoints[index]
        total = fsum(pass_at_k(t.num_samples, t.num_correct, k) for t in tallies)
        total_1 = fsum(t.num_correct / t.num_samples for t in tallies)
        count = len(tallies)
        return round(total / count, _DIGITS), round(total_1 / count, _DIGITS), index

    return max(range(len(checkpoints)), key=rank)
