"""A whole number shared out by weights, where some can take only so much."""

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def share_out(
    total: int, weights: Mapping[_Key, float], most: Mapping[_Key, int]
) -> dict[_Key, int]:
    """Return whole shares of `total` in proportion to the weights, none above its `most`.

    What one cannot take goes to the others by their weights. The shares sum to `total`, or to all
    that those of weight above 0 can take. Rests go by largest remainder, ties to the first key.
    """
    shares = dict.fromkeys(weights, 0)
    open_keys = [key for key, weight in weights.items() if weight > 0]
    left = total
    while open_keys:
        whole = math.fsum(weights[key] for key in open_keys)
        quotas = {key: left * weights[key] / whole for key in open_keys}
        full = [key for key in open_keys if quotas[key] >= most[key]]
        if not full:
            shares |= _rounded(quotas, left)
            break
        for key in full:
            shares[key] = most[key]
            left -= most[key]
        open_keys = [key for key in open_keys if key not in set(full)]
    return shares


def _rounded(quotas: Mapping[_Key, float], total: int) -> dict[_Key, int]:
    shares = {key: math.floor(quota) for key, quota in quotas.items()}
    by_remainder = sorted(quotas, key=lambda key: shares[key] - quotas[key])
    for key in by_remainder[: total - sum(shares.values())]:
        shares[key] += 1
    return shares
