"""The penalty for leaving the reference, against the formula and against a whole distribution."""

import math

import pytest
import torch

from mgpo.algorithm.reference_kl import k3_estimates, reference_metrics, reference_penalty
from mgpo.config.algorithm import AlgorithmConfig


def test_estimates_and_gradients_equal_a_hand_computation():
    logprobs = torch.tensor([-1.0, -2.0, -0.5], dtype=torch.float64, requires_grad=True)
    reference = torch.tensor([-1.0, -1.0, -1.5], dtype=torch.float64)
    estimates = k3_estimates(logprobs, reference)
    # r = pi_ref / pi is 1, e, 1/e.
    assert estimates.tolist() == pytest.approx([0.0, math.e - 2, 1 / math.e], rel=1e-12)
    estimates.sum().backward()
    assert logprobs.grad.tolist() == pytest.approx([0.0, 1 - math.e, 1 - 1 / math.e], rel=1e-12)


def test_its_mean_under_the_policy_is_the_kl_of_the_whole_distribution():
    generator = torch.Generator().manual_seed(0)
    policy, reference = torch.randn(2, 50, generator=generator, dtype=torch.float64).log_softmax(-1)
    expected = (policy.exp() * (policy - reference)).sum().item()
    mean = (policy.exp() * k3_estimates(policy, reference)).sum().item()
    assert mean == pytest.approx(expected, rel=1e-12)


def test_a_masked_token_is_left_out_and_a_weight_does_not_scale_it():
    logprobs = torch.full((3,), -2.0, requires_grad=True)
    weights, scales = torch.tensor([0.0, 0.5, 2.0]), torch.tensor([1.0, 1.0, 0.25])
    penalty = reference_penalty(logprobs, torch.full((3,), -1.0), weights, scales)
    assert penalty.item() == pytest.approx(1.25 * (math.e - 2), rel=1e-6)
    penalty.backward()
    expected = [0.0, 1 - math.e, 0.25 * (1 - math.e)]
    assert logprobs.grad.tolist() == pytest.approx(expected, rel=1e-6)


def test_a_reference_equal_to_the_policy_pulls_nowhere():
    logprobs = torch.tensor([-3.0, -0.1], requires_grad=True)
    estimates = k3_estimates(logprobs, logprobs.detach())
    estimates.sum().backward()
    assert estimates.tolist() == [0.0, 0.0]
    assert logprobs.grad.tolist() == [0.0, 0.0]


def test_a_small_distance_survives_float32():
    gap = 2.0**-12
    estimate = k3_estimates(torch.tensor([-1.0]), torch.tensor([-1.0 + gap])).item()
    assert estimate == pytest.approx(gap**2 / 2, rel=1e-2)


def test_a_huge_distance_overflows_neither_value_nor_gradient():
    logprobs = torch.tensor([-1e4, -0.1], requires_grad=True)
    estimates = k3_estimates(logprobs, torch.tensor([-0.1, -1e4]))
    estimates.sum().backward()
    assert torch.isfinite(estimates).all()
    assert torch.isfinite(logprobs.grad).all()


def test_the_metric_is_the_mean_over_tokens():
    values = reference_metrics(torch.tensor([-1.0, -2.0]), torch.tensor([-1.0, -1.0]))
    assert values["loss/kl_ref"].value == pytest.approx((math.e - 2) / 2, rel=1e-12)


def test_a_negative_coefficient_is_refused():
    with pytest.raises(ValueError, match=r"algorithm\.kl_coef must be at least 0"):
        AlgorithmConfig(kl_coef=-0.1)
