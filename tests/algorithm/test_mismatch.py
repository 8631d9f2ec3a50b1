"""Mismatch correction and its metrics, and their exact merging."""

import math

import pytest
import torch

from mgpo.algorithm.mismatch import mismatch_metrics, mismatch_weights
from mgpo.algorithm.policy_loss import batch_denominator, clipped_losses
from mgpo.config.algorithm import AlgorithmConfig

OLD = torch.tensor([-0.1, -1.0, -2.0, -0.5])
ROLLOUT = torch.tensor([-0.1, -2.0, -1.0, -0.6])
OWNERS = torch.tensor([0, 0, 0, 1])


def test_token_weights_are_truncated_above_only():
    weights = mismatch_weights(OLD, ROLLOUT, OWNERS, AlgorithmConfig(mismatch_cap=2.0))
    expected = [1.0, 2.0, math.exp(-1.0), math.exp(0.1)]
    assert weights.tolist() == pytest.approx(expected, rel=1e-6)


def test_icepop_keeps_the_weight_of_near_tokens_and_drops_the_others():
    weights = mismatch_weights(OLD, ROLLOUT, OWNERS, AlgorithmConfig(mismatch="icepop"))
    assert weights.tolist() == pytest.approx([1.0, 0.0, 0.0, math.exp(0.1)], rel=1e-6)
    wide = AlgorithmConfig(mismatch="icepop", mismatch_cap=5.0, mismatch_floor=0.3)
    expected = [1.0, math.e, math.exp(-1.0), math.exp(0.1)]
    assert mismatch_weights(OLD, ROLLOUT, OWNERS, wide).tolist() == pytest.approx(
        expected, rel=1e-6
    )
    with pytest.raises(ValueError, match="mismatch_floor"):
        AlgorithmConfig(mismatch_floor=3.0)


def test_geo_mask_drops_whole_samples_by_their_geometric_mean():
    # Sample 0: exp((0 + 1 - 1) / 3) = 1 although two of its tokens are far off; sample 1: exp(0.1).
    default = mismatch_weights(OLD, ROLLOUT, OWNERS, AlgorithmConfig(mismatch="geo_mask"))
    assert default.tolist() == [1.0, 1.0, 1.0, 0.0]
    wide = AlgorithmConfig(mismatch="geo_mask", geo_mask_high=1.2)
    assert mismatch_weights(OLD, ROLLOUT, OWNERS, wide).tolist() == [1.0] * 4
    narrow = AlgorithmConfig(mismatch="geo_mask", geo_mask_low=1.05, geo_mask_high=1.2)
    assert mismatch_weights(OLD, ROLLOUT, OWNERS, narrow).tolist() == [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(ValueError, match=r"geo_mask_high must be at least 1\.05"):
        AlgorithmConfig(geo_mask_low=1.05)


def test_geo_mask_sees_a_drift_that_float32_sums_would_lose():
    count = 60_000
    ratio, owners = 1.01, torch.zeros(count, dtype=torch.int64)
    for factor, expected in ((1 - 1e-5, 1.0), (1 + 1e-5, 0.0)):
        old = torch.full((count,), math.log(ratio * factor) - 2.0, dtype=torch.float64)
        config = AlgorithmConfig(mismatch="geo_mask")
        weights = mismatch_weights(old, torch.full((count,), -2.0), owners, config)
        assert weights.unique().tolist() == [expected]


def test_geo_mask_drops_what_has_no_finite_mean():
    config = AlgorithmConfig(mismatch="geo_mask")
    for rollout in (-math.inf, math.inf, math.nan):
        weights = mismatch_weights(OLD[:1], torch.tensor([rollout]), OWNERS[:1], config)
        assert weights.tolist() == [0.0]
    nothing = torch.empty(0)
    assert mismatch_weights(nothing, nothing, nothing.long(), config).tolist() == []


def test_without_correction_all_weights_are_one():
    assert (
        mismatch_weights(OLD, ROLLOUT, OWNERS, AlgorithmConfig(mismatch="none")).tolist()
        == [1.0] * 4
    )


def test_the_correction_carries_no_gradient():
    old = OLD.clone().requires_grad_()
    assert not mismatch_weights(old, ROLLOUT, OWNERS, AlgorithmConfig()).requires_grad


def test_a_huge_gap_does_not_overflow():
    tokens = (torch.tensor([0.0]), torch.tensor([-1e4]), torch.tensor([0]))
    assert mismatch_weights(*tokens, AlgorithmConfig()).tolist() == [2.0]
    metrics = mismatch_metrics(*tokens, AlgorithmConfig())
    assert all(math.isfinite(reduction.value) for reduction in metrics.values())


def test_metrics_equal_a_hand_computation():
    values = {
        k: r.value for k, r in mismatch_metrics(OLD, ROLLOUT, OWNERS, AlgorithmConfig()).items()
    }
    ratios = [1.0, math.e, math.exp(-1), math.exp(0.1)]
    weights = [min(ratio, 2.0) for ratio in ratios]
    logs = [0.0, 1.0, -1.0, 0.1]
    k3 = sum(r - 1 - log for r, log in zip(ratios, logs, strict=True)) / 4
    assert values == pytest.approx(
        {
            "mismatch/prob_gap_max": math.exp(-1) - math.exp(-2),
            "mismatch/kl": -0.1 / 4,
            "mismatch/kl_k3": k3,
            "mismatch/ratio_max": math.e,
            "mismatch/capped_share": 0.25,
            "mismatch/geo_masked_share": 0.5,
            "mismatch/effective_share": sum(weights) ** 2 / (4 * sum(w * w for w in weights)),
        },
        rel=1e-5,
    )


def test_the_clip_stops_gradients_only_where_it_should():
    config = AlgorithmConfig(clip_low=0.2, clip_high=0.28)
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1])
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    logprobs = ratio.log().requires_grad_()
    clipped_losses(logprobs, torch.zeros(5), advantage, config).sum().backward()
    assert logprobs.grad.tolist() == pytest.approx([0.0, 1.5, -0.5, 0.0, -1.1], rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"aggregation": "sample_mean", "masked_samples": "count"}, 4),
        ({"aggregation": "sample_mean", "masked_samples": "skip"}, 3),
        ({"aggregation": "token_mean"}, 17),
    ],
)
def test_the_denominator_counts_samples_or_tokens(settings, expected):
    assert batch_denominator([5, 0, 10, 2], AlgorithmConfig(**settings)) == expected
