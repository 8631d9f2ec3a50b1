"""Interval of a mean accuracy."""

import math
from collections.abc import Sequence

_Z_95 = 1.959964


def mean_with_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of independent values and its 95 % interval (normal approximation).

    With one value the interval is that value's whole range, 0 to 1.
    """
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0, 1.0
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    half = _Z_95 * math.sqrt(variance / len(values))
    return mean, max(0.0, mean - half), min(1.0, mean + half)
