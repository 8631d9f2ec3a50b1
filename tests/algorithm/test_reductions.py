"""Metrics merge to what the whole would have given."""

import pytest

from mgpo.algorithm.reductions import EffectiveShare, Max, Mean, Sum, merge_all


def test_means_merge_by_count_not_by_part():
    merged = merge_all([{"x": Mean(6.0, 3)}, {"x": Mean(10.0, 1)}])
    assert merged["x"].value == 4.0


def test_sums_and_maxima_merge():
    merged = merge_all([{"s": Sum(1.5), "m": Max(-3.0)}, {"s": Sum(2.0), "m": Max(-5.0)}])
    assert (merged["s"].value, merged["m"].value) == (3.5, -3.0)


def test_a_key_may_be_absent_from_some_parts():
    merged = merge_all([{}, {"x": Mean(1.0, 2)}, {"y": Max(1.0)}, {"x": Mean(3.0, 2)}])
    assert {key: reduction.value for key, reduction in merged.items()} == {"x": 1.0, "y": 1.0}


def test_a_mean_over_nothing_is_zero():
    assert Mean(0.0, 0).value == 0.0


def test_effective_share_equals_a_hand_computation():
    # Weights 1, 1 and 2, 0.5: (4.5)^2 / (4 x 6.25).
    merged = EffectiveShare(2.0, 2.0, 2).merge(EffectiveShare(2.5, 4.25, 2))
    assert merged.value == pytest.approx(20.25 / 25, rel=1e-15)


@pytest.mark.parametrize("weight", [0.1, 0.3, 1.7])
@pytest.mark.parametrize("count", [3, 7, 1000])
def test_equal_weights_are_fully_effective_and_never_more(weight, count):
    total = sum([weight] * count)
    share = EffectiveShare(total, sum([weight * weight] * count), count).value
    assert share <= 1.0
    assert share == pytest.approx(1.0, rel=1e-12)
