"""Schedule, one division, clipping, and the guard against bad gradients."""

import math

import pytest
import torch

from mgpo.config.learner import LearnerConfig
from mgpo.learner.optimizer import NonFiniteGradients, Optimizer
from mgpo.learner.schedule import learning_rate


def make(**settings):
    parameter = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    config = LearnerConfig(lr=0.1, warmup_steps=0, **settings)
    return parameter, Optimizer([parameter], config)


def test_the_rate_warms_up_linearly_then_follows_its_schedule():
    config = LearnerConfig(lr=1.0, min_lr=0.1, warmup_steps=4, schedule="cosine")
    rates = [learning_rate(config, update, total_updates=15) for update in range(15)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[9] == pytest.approx(0.55)
    assert rates[14] == pytest.approx(0.1)
    linear = LearnerConfig(lr=1.0, warmup_steps=0, schedule="linear")
    assert [learning_rate(linear, u, 5) for u in range(5)] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_the_recipe_warms_up_over_a_share_and_ends_at_its_floor():
    """5 % of 200 updates, from 5e-5 down to 8e-8, which the last update has exactly."""
    config = LearnerConfig(lr=5e-5, min_lr=8e-8, warmup_share=0.05, schedule="cosine")
    rates = [learning_rate(config, update, total_updates=200) for update in range(200)]
    assert rates[0] == pytest.approx(5e-6)
    assert rates[9] == rates[10] == max(rates) == 5e-5
    assert rates[-1] == min(rates) == 8e-8
    middle = 8e-8 + (5e-5 - 8e-8) * 0.5 * (1 + math.cos(math.pi * 89 / 189))
    assert rates[99] == pytest.approx(middle)


def test_gradients_are_divided_before_they_are_clipped():
    parameter, optimizer = make(grad_clip=1.0)
    parameter.grad = torch.tensor([3.0, 4.0])
    report = optimizer.step(denominator=10.0, lr=0.1)
    assert report.grad_norm == pytest.approx(0.5)


def test_adamw_first_step_moves_by_the_rate_and_reports_its_ratio():
    parameter, optimizer = make()
    parameter.grad = torch.tensor([1.0, -1.0])
    report = optimizer.step(denominator=1.0, lr=0.01)
    assert parameter.tolist() == pytest.approx([2.99, 4.01])
    expected = 0.01 * math.sqrt(2) / math.hypot(2.99, 4.01)
    assert report.update_to_weight_ratio == pytest.approx(expected, rel=1e-4)
    assert parameter.grad is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_bad_gradient_is_skipped_and_counted_and_too_many_stop(bad):
    parameter, optimizer = make(max_skipped_updates=1)
    parameter.grad = torch.tensor([bad, 1.0])
    assert optimizer.step(denominator=1.0, lr=0.1).is_skipped
    assert parameter.tolist() == [3.0, 4.0]
    parameter.grad = torch.tensor([bad, 1.0])
    with pytest.raises(NonFiniteGradients, match="2 consecutive updates"):
        optimizer.step(denominator=1.0, lr=0.1)


def test_a_good_gradient_forgives_the_skips_before_it():
    parameter, optimizer = make(max_skipped_updates=1)
    for gradient in (math.nan, 1.0, math.nan):
        parameter.grad = torch.tensor([gradient, 1.0])
        optimizer.step(denominator=1.0, lr=0.1)
    assert optimizer.consecutive_skips == 1
