"""The MGPO weight: how much a prompt teaches at the policy's present accuracy.

Source: MGPO reports, arXiv 2511.06221 and 2606.16140.
"""

import math


def bernoulli_kl(p: float, p0: float) -> float:
    """Return D(p || p0) = p ln(p/p0) + (1-p) ln((1-p)/(1-p0)), with 0 ln 0 = 0.

    Raises ValueError unless 0 <= p <= 1 and 0 < p0 < 1.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"an accuracy must be from 0 to 1, got {p}")
    if not 0 < p0 < 1:
        raise ValueError(f"a target accuracy must be between 0 and 1, both excluded, got {p0}")
    right = p * math.log(p / p0) if p > 0 else 0.0
    wrong = (1 - p) * math.log((1 - p) / (1 - p0)) if p < 1 else 0.0
    return right + wrong


def mgpo_weight(group_accuracy: float, gamma: float, target_accuracy: float = 0.5) -> float:
    """Return w = exp(-gamma D(p || p0)); 1 where p = p0, and everywhere 1 for gamma = 0."""
    if gamma == 0:
        return 1.0
    return math.exp(-gamma * bernoulli_kl(group_accuracy, target_accuracy))
