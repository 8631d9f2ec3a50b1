"""Pass@K: the chance that at least one of K samples is right (arXiv 2107.03374)."""

from math import comb


def pass_at_k(num_samples: int, num_correct: int, k: int) -> float:
    """Return 1 - C(n-c, k) / C(n, k) for n samples of one problem, c of them correct.

    The share of all sets of k samples that hold a correct one: unbiased, where 1 - (1 - c/n)^k is
    too low. Computed in whole numbers and rounded once. Raises ValueError unless 1 <= k <= n and
    0 <= c <= n.
    """
    if not 1 <= k <= num_samples:
        raise ValueError(
            f"Pass@{k} needs 1 <= k <= the number of samples, got {num_samples} samples; "
            "sample more or lower k"
        )
    if not 0 <= num_correct <= num_samples:
        raise ValueError(
            f"the number of correct samples must be from 0 to {num_samples}, got {num_correct}"
        )
    num_sets = comb(num_samples, k)
    return (num_sets - comb(num_samples - num_correct, k)) / num_sets
