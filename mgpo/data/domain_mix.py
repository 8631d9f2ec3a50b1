"""Prompts of several domains by weights: each domain is an endless sequence of shuffled epochs of
its own, and a step takes from each by its share. Pure functions of seed and step."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from mgpo.config.errors import DataError
from mgpo.data.rows import Row
from mgpo.data.sampler import sequence_part


def check_domain_weights(rows: Iterable[Row], weights: Mapping[str, float]) -> None:
    """Raise DataError unless each domain of the rows has a weight, and each weight above 0 rows."""
    if not weights:
        return
    found: set[str] = set()
    for row in rows:
        if row.domain not in weights:
            raise DataError(
                f"{row.where}, field domain: data.domain_weights has no weight for "
                f"{row.domain!r} (it has {', '.join(weights)}); add one, 0 to leave its rows out"
            )
        found.add(row.domain)
    empty = [domain for domain, weight in weights.items() if weight and domain not in found]
    if empty:
        raise DataError(
            f"data.domain_weights: no row has domain {', '.join(empty)}; "
            f"the data has {', '.join(sorted(found))}"
        )


def weighted_indices(
    domains: Sequence[str],
    weights: Mapping[str, float],
    prompts_per_step: int,
    seed: int,
    step: int,
    *,
    stream: str,
) -> list[int]:
    """Return the rows of a step, whose `domains` are given, domain by domain.

    Within a domain each row comes once before one comes again.
    """
    first = domain_counts(step * prompts_per_step, weights)
    end = domain_counts((step + 1) * prompts_per_step, weights)
    chosen = []
    for domain in first:
        rows = [index for index, each in enumerate(domains) if each == domain]
        places = sequence_part(
            len(rows), first[domain], end[domain], stream=f"{stream}|{seed}|{domain}"
        )
        chosen += [rows[place] for place in places]
    return chosen


def domain_counts(num_prompts: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return how many of the first `num_prompts` prompts each domain has; they sum to it.

    Domains are split off one after the other, in alphabetical order, each with its share of what
    is left, rounded. No count falls when `num_prompts` grows, so that steps are differences. Each
    is less than half the number of domains away from its share. Fractions: no float may break that.
    """
    shares = {name: Fraction(weights[name]) for name in sorted(weights) if weights[name]}
    counts = {}
    left, whole = num_prompts, sum(shares.values(), Fraction(0))
    for domain, share in shares.items():
        counts[domain] = int(left * share / whole + Fraction(1, 2))
        left -= counts[domain]
        whole -= share
    return counts
