"""The interval of a held-out accuracy."""

import random

import pytest

from mgpo.algorithm.interval import gain_with_interval, mean_with_interval


def test_single_verdicts_give_wilsons_interval():
    # 8 of 10: the textbook values.
    assert mean_with_interval([1.0] * 8 + [0.0] * 2) == pytest.approx((0.8, 0.480, 0.949), abs=0.02)


def test_the_gain_has_newcombes_interval():
    # 48 of 80 and 56 of 70: Newcombe 1998, table II, method 10.
    before = mean_with_interval([1.0] * 48 + [0.0] * 32)
    after = mean_with_interval([1.0] * 56 + [0.0] * 14)
    expected = (0.2, 0.0524, 0.3339)
    assert gain_with_interval(before, after) == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_edges_have_a_width(share):
    mean, low, high = mean_with_interval([share] * 20)
    assert mean == share
    assert high - low == pytest.approx(0.161, abs=0.005)


def test_it_covers_the_truth_about_as_often_as_it_says():
    rng = random.Random(0)
    hits = 0
    for _ in range(400):
        chances = [rng.betavariate(0.6, 0.4) for _ in range(100)]
        shares = [sum(rng.random() < chance for _ in range(4)) / 4 for chance in chances]
        _, low, high = mean_with_interval(shares)
        hits += low <= 0.6 <= high
    assert 0.92 <= hits / 400 <= 0.98
