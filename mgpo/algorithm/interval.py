"""Interval of a mean accuracy."""

import math
from collections.abc import Sequence

_Z_95 = 1.959964
_ROUNDING = 1e-12
"""Values this near to each other are equal: shares of fewer than a million samples never are."""


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


def mean_with_interval(
    shares: Sequence[float], *, quantile: float = _Z_95
) -> tuple[float, float, float]:
    """Return the mean of independent shares (each from 0 to 1) and its 95 % interval.

    Wilson's score interval (Wilson 1927) for the number of trials that a binomial share would need
    to vary as these do; where they don't vary, one trial per share. `quantile` is the normal one,
    or Student's where there are few shares.
    """
    count = len(shares)
    mean = sum(shares) / count
    spread_sq = sum((share - mean) ** 2 for share in shares)
    trials = float(count)
    if _differ(shares):
        trials = mean * (1 - mean) * count * (count - 1) / spread_sq
    z_sq = quantile**2
    centre = (mean + z_sq / (2 * trials)) / (1 + z_sq / trials)
    variance = mean * (1 - mean) / trials + z_sq / (4 * trials**2)
    half = quantile * math.sqrt(variance) / (1 + z_sq / trials)
    return mean, max(0.0, centre - half), min(1.0, centre + half)


def mean_over_problems(shares: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean share of right answers, one share per problem, and its 95 % interval.

    The problems are what varies: the samples of one are not independent, and count as its share
    only. As `mean_with_interval`, with Student's quantile for the number of problems; one problem
    says nothing about others.
    """
    if len(shares) == 1:
        return shares[0], 0.0, 1.0
    return mean_with_interval(shares, quantile=_student_95(len(shares) - 1))


def ratio_over_problems(parts: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return sum(right) / sum(of), given (right, of) per problem, and its 95 % interval.

    As `mean_over_problems` of the linearised ratio, whose term of problem i is
    R + (right_i - R of_i) / mean(of) (Cochran 1977, section 6.3): their mean is R.
    """
    total = sum(of for _, of in parts)
    ratio = sum(right for right, _ in parts) / total
    mean_of = total / len(parts)
    return mean_over_problems([ratio + (right - ratio * of) / mean_of for right, of in parts])


def difference_over_problems(
    before: Sequence[float], after: Sequence[float]
) -> tuple[float, float, float]:
    """Return mean(after - before) and its 95 % interval, for shares of the same problems, in order.

    Student's interval of the paired differences. Where all are equal it says nothing, and 3 / n is
    taken to each side: with 95 % confidence fewer problems than that share would differ otherwise
    (the rule of three, Hanley and Lippman-Hand 1983).
    """
    differences = [new - old for old, new in zip(before, after, strict=True)]
    count = len(differences)
    mean = sum(differences) / count
    spread_sq = sum((difference - mean) ** 2 for difference in differences)
    half = 3 / count
    if _differ(differences):
        half = _student_95(count - 1) * math.sqrt(spread_sq / (count - 1) / count)
    return mean, max(-1.0, mean - half), min(1.0, mean + half)


def _differ(values: Sequence[float]) -> bool:
    """Say whether values differ by more than rounding: 0.2 - 0.1 is not 0.3 - 0.2."""
    return max(values) - min(values) > _ROUNDING


def _student_95(degrees: int) -> float:
    """Return Student's two-sided 95 % quantile, to 0.2 %.

    Abramowitz and Stegun 26.7.5 from 3 degrees of freedom on; below, where it fails, their table.
    """
    if degrees < 3:
        return {1: 12.7062, 2: 4.3027}[degrees]
    z, inverse = _Z_95, 1 / degrees
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term * inverse**power for power, term in enumerate(terms))
