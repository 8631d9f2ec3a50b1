"""Interval of a mean accuracy."""

import math
from collections.abc import Sequence

_Z_95 = 1.959964


def gain_with_interval(
    before: tuple[float, float, float], after: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the difference of two means, each given with its interval, and its 95 % interval.

    Newcombe's square-and-add interval for independent samples (Newcombe 1998, method 10). Where
    both were measured on the same problems it is wider than it need be.
    """
    (old, old_low, old_high), (new, new_low, new_high) = before, after
    gain = new - old
    return (
        gain,
        gain - math.hypot(new - new_low, old_high - old),
        gain + math.hypot(new_high - new, old - old_low),
    )


def mean_with_interval(shares: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of independent shares (each from 0 to 1) and its 95 % interval.

    Wilson's score interval (Wilson 1927) for the number of trials that a binomial share would need
    to vary as these do; where they don't vary, one trial per share.
    """
    count = len(shares)
    mean = sum(shares) / count
    spread_sq = sum((share - mean) ** 2 for share in shares)
    trials = float(count)
    if count > 1 and spread_sq > 0:
        trials = mean * (1 - mean) * count * (count - 1) / spread_sq
    z_sq = _Z_95**2
    centre = (mean + z_sq / (2 * trials)) / (1 + z_sq / trials)
    variance = mean * (1 - mean) / trials + z_sq / (4 * trials**2)
    half = _Z_95 * math.sqrt(variance) / (1 + z_sq / trials)
    return mean, max(0.0, centre - half), min(1.0, centre + half)
