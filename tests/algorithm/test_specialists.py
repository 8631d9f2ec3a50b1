"""Which checkpoint becomes a specialist."""

import random
from itertools import combinations
from statistics import fmean

import pytest

from mgpo.algorithm.specialists import Tally, find_specialist, measure


def tallies(*counts, num_samples=8):
    return [Tally(num_samples=num_samples, num_correct=correct) for correct in counts]


def test_highest_pass_at_k_wins_over_highest_pass_at_1():
    # Sure of half the problems, against a guess at each of them.
    sharp, broad = tallies(8, 8, 0, 0), tallies(2, 2, 2, 2)
    assert find_specialist([sharp, broad], 1) == 0
    assert find_specialist([sharp, broad], 4) == 1


def test_a_tie_goes_to_pass_at_1_and_then_to_the_later_checkpoint():
    # At K = 8 any correct sample counts as one.
    assert find_specialist([tallies(1, 0), tallies(3, 0), tallies(2, 0)], 8) == 1
    assert find_specialist([tallies(3, 0), tallies(0, 3), tallies(1, 0)], 8) == 1


def test_the_order_of_the_problems_decides_nothing():
    rng = random.Random(0)
    counts = [rng.randrange(9) for _ in range(101)]
    checkpoints = []
    for _ in range(6):
        rng.shuffle(counts)
        checkpoints.append(tallies(*counts))
    assert find_specialist(checkpoints, 3) == 5


def test_measured_means_equal_the_share_of_sets_with_a_correct_sample():
    counts, k = [0, 1, 3, 6], 2
    measured = measure(tallies(*counts, num_samples=6), k)
    shares = [
        fmean(any(chosen) for chosen in combinations([i < c for i in range(6)], k)) for c in counts
    ]
    mean, low, high = measured.pass_at_k
    assert mean == pytest.approx(fmean(shares), abs=1e-12)
    assert 0 <= low < mean < high <= 1
    assert measured.pass_at_1[0] == pytest.approx(10 / 24, abs=1e-12)
