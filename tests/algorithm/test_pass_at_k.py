"""Pass@K against the sets of samples themselves."""

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpo.algorithm.pass_at_k import pass_at_k


@st.composite
def _counts(draw: st.DrawFn) -> tuple[int, int, int]:
    num_samples = draw(st.integers(1, 10))
    num_correct = draw(st.integers(0, num_samples))
    return num_samples, num_correct, draw(st.integers(1, num_samples))


@given(_counts())
def test_equals_the_share_of_sets_with_a_correct_sample(counts):
    num_samples, num_correct, k = counts
    verdicts = [index < num_correct for index in range(num_samples)]
    sets = [any(chosen) for chosen in combinations(verdicts, k)]
    assert pass_at_k(num_samples, num_correct, k) == float(Fraction(sum(sets), len(sets)))


def test_mean_over_draws_is_the_chance_of_k_fresh_samples():
    # Unbiased: over c ~ Binomial(n, p), the mean is 1 - (1 - p)^k.
    n, k, p = 8, 3, 0.3
    mean = sum(comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1))
    assert mean == pytest.approx(1 - (1 - p) ** k, abs=1e-12)


@pytest.mark.parametrize("counts", [(2000, 1, 1000), (10_000, 3, 64)])
def test_many_samples_lose_no_digit(counts):
    n, c, k = counts
    misses = Fraction(1)
    for index in range(c):
        misses *= Fraction(n - k - index, n - index)
    assert pass_at_k(n, c, k) == float(1 - misses)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((4, 1, 5), "Pass@5 needs 1 <= k <= the number of samples, got 4"),
        ((4, 1, 0), "Pass@0 needs 1 <= k"),
        ((4, 5, 1), "from 0 to 4, got 5"),
        ((4, -1, 1), "from 0 to 4, got -1"),
    ],
)
def test_counts_that_make_no_sense_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        pass_at_k(*counts)
