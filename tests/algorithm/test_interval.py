"""The interval of a held-out accuracy."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mgpo.algorithm.interval import (
    difference_over_problems,
    gain_with_interval,
    mean_over_problems,
    mean_with_interval,
    ratio_over_problems,
)


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


@pytest.mark.parametrize("interval", [mean_with_interval, mean_over_problems])
@pytest.mark.parametrize(("share", "count"), [(0.1, 3), (0.7, 10), (1 / 3, 7)])
def test_equal_shares_have_the_width_of_a_trial_each(interval, share, count):
    # Sums of 0.1 and 0.7 are rounded, so that no share is their mean.
    mean, low, high = interval([share] * count)
    assert mean == pytest.approx(share)
    quantile = (
        1.96 if interval is mean_with_interval else {2: 4.3027, 6: 2.447, 9: 2.262}[count - 1]
    )
    centre = (share + quantile**2 / (2 * count)) / (1 + quantile**2 / count)
    half = (
        quantile
        * (share * (1 - share) / count + quantile**2 / (4 * count**2)) ** 0.5
        / (1 + quantile**2 / count)
    )
    assert (low, high) == pytest.approx((centre - half, centre + half), abs=0.003)


def test_equal_differences_have_the_width_of_the_rule_of_three():
    assert difference_over_problems([0.1] * 3, [0.2] * 3) == pytest.approx((0.1, -0.9, 1.0))
    assert difference_over_problems([0.1, 0.2, 0.7], [0.2, 0.3, 0.8]) == pytest.approx(
        (0.1, -0.9, 1.0)
    )


def test_equal_ratios_have_a_width():
    _, low, high = ratio_over_problems([(0.7 * of, of) for of in (1, 2, 3, 5, 7)])
    assert high - low > 0.3


def test_it_covers_the_truth_about_as_often_as_it_says():
    rng = random.Random(0)
    hits = 0
    for _ in range(400):
        chances = [rng.betavariate(0.6, 0.4) for _ in range(100)]
        shares = [sum(rng.random() < chance for _ in range(4)) / 4 for chance in chances]
        _, low, high = mean_with_interval(shares)
        hits += low <= 0.6 <= high
    assert 0.92 <= hits / 400 <= 0.98


def coverage(
    interval: Callable[[Any], tuple[float, float, float]], draw: Any, truth: float
) -> float:
    """How many of 3,000 intervals hold the truth."""
    hits = 0
    for _ in range(3000):
        _, low, high = interval(draw())
        hits += low <= truth <= high
    return hits / 3000


@pytest.mark.parametrize(
    ("num_problems", "num_samples", "a", "b"),
    [(30, 64, 0.5, 0.5), (30, 16, 1.2, 0.3), (30, 64, 4.0, 0.5), (198, 16, 2.0, 2.0)],
)
def test_intervals_over_problems_cover_what_they_promise(
    num_problems: int, num_samples: int, a: float, b: float
) -> None:
    generator = np.random.default_rng(1)

    def draw() -> list[float]:  # each problem has a difficulty of its own, Beta(a, b)
        accuracies = generator.beta(a, b, size=num_problems)
        return (generator.binomial(num_samples, accuracies) / num_samples).tolist()

    assert 0.93 <= coverage(mean_over_problems, draw, a / (a + b)) <= 0.97


def test_intervals_over_samples_would_not_cover() -> None:
    generator = np.random.default_rng(1)

    def draw() -> list[float]:
        accuracies = np.repeat(generator.beta(0.5, 0.5, size=30), 16)
        return generator.binomial(1, accuracies).tolist()

    assert coverage(mean_over_problems, draw, 0.5) < 0.6


def test_intervals_of_paired_differences_cover_what_they_promise() -> None:
    generator = np.random.default_rng(2)

    def draw() -> Any:
        before = generator.beta(2.0, 2.0, size=30)
        after = before + generator.uniform(-0.2, 0.3, size=30) * before * (1 - before)
        return tuple((generator.binomial(16, p) / 16).tolist() for p in (before, after))

    truth = 0.05 * (0.5 - 0.3)  # E[p (1 - p)] of Beta(2, 2) is 0.2; E of the uniform is 0.05
    assert 0.93 <= coverage(lambda pair: difference_over_problems(*pair), draw, truth) <= 0.97


def test_pairing_makes_the_interval_of_a_difference_small() -> None:
    hard_and_easy = [0.0, 0.1, 0.5, 0.9, 1.0] * 6
    better = [
        min(1.0, accuracy + 0.02 * (index % 2)) for index, accuracy in enumerate(hard_and_easy)
    ]
    mean, low, high = difference_over_problems(hard_and_easy, better)
    assert 0 < low < mean < high < 0.02
    assert difference_over_problems(better, better) == (0.0, -0.1, 0.1)  # 30 problems, none differs


def test_a_ratio_over_equal_problems_is_their_mean() -> None:
    shares = [0.0, 0.5, 0.5, 1.0]
    expected = mean_over_problems(shares)
    assert ratio_over_problems([(2 * share, 2) for share in shares]) == pytest.approx(expected)


def test_a_ratio_weighs_problems_by_their_size() -> None:
    ratio, low, high = ratio_over_problems([(1, 1), (0, 3), (2, 2), (3, 4)])
    assert ratio == pytest.approx(0.6)
    assert low < 0.6 < high


def test_one_problem_says_nothing_about_others() -> None:
    assert mean_over_problems([0.75]) == (0.75, 0.0, 1.0)
