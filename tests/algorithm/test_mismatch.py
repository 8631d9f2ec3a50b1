"""Mismatch correction and its metrics, and their exact merging."""

import math
from itertools import pairwise

import pytest
import torch

from mgpo.algorithm.mismatch import mismatch_metrics, mismatch_weights
from mgpo.algorithm.policy_loss import batch_denominator, clipped_losses
from mgpo.algorithm.reductions import merge_all
from mgpo.config.algorithm import AlgorithmConfig

OLD = torch.tensor([-0.1, -1.0, -2.0, -0.5])
ROLLOUT = torch.tensor([-0.1, -2.0, -1.0, -0.6])


def test_token_weights_are_truncated_above_only():
    weights = mismatch_weights(OLD, ROLLOUT, AlgorithmConfig(mismatch_cap=2.0))
    expected = [1.0, 2.0, math.exp(-1.0), math.exp(0.1)]
    assert weights.tolist() == pytest.approx(expected, rel=1e-6)


def test_without_correction_all_weights_are_one():
    assert mismatch_weights(OLD, ROLLOUT, AlgorithmConfig(mismatch="none")).tolist() == [1.0] * 4


def test_the_correction_carries_no_gradient():
    old = OLD.clone().requires_grad_()
    assert not mismatch_weights(old, ROLLOUT, AlgorithmConfig()).requires_grad


def test_a_huge_gap_does_not_overflow():
    weights = mismatch_weights(torch.tensor([0.0]), torch.tensor([-1e4]), AlgorithmConfig())
    assert weights.tolist() == [2.0]
    metrics = mismatch_metrics(torch.tensor([0.0]), torch.tensor([-1e4]), AlgorithmConfig())
    assert all(math.isfinite(reduction.value) for reduction in metrics.values())


def test_metrics_equal_a_hand_computation():
    values = {k: r.value for k, r in mismatch_metrics(OLD, ROLLOUT, AlgorithmConfig()).items()}
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
            "mismatch/effective_share": sum(weights) ** 2 / (4 * sum(w * w for w in weights)),
        },
        rel=1e-5,
    )


def test_metrics_of_parts_merge_to_those_of_the_whole():
    torch.manual_seed(0)
    old, rollout = -torch.rand(101), -torch.rand(101)
    whole = mismatch_metrics(old, rollout, AlgorithmConfig())
    cuts = [0, 7, 8, 60, 60, 101]
    parts = [mismatch_metrics(old[a:b], rollout[a:b], AlgorithmConfig()) for a, b in pairwise(cuts)]
    merged = merge_all(parts)
    for key, reduction in whole.items():
        assert merged[key].value == pytest.approx(reduction.value, rel=1e-9), key


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
