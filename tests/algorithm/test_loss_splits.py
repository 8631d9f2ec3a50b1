"""A batch gives the same loss, gradient and metrics however it is split into micro-batches."""

import pytest
import torch

from mgpo.algorithm.mismatch import mismatch_metrics, mismatch_weights
from mgpo.algorithm.policy_loss import batch_denominator, policy_loss, policy_metrics, token_scales
from mgpo.algorithm.reductions import merge_all
from mgpo.algorithm.reference_kl import reference_metrics, reference_penalty
from mgpo.config.algorithm import AlgorithmConfig

LENGTHS = (5, 1, 0, 12, 7, 3, 0, 9)
"""Trained tokens per sample; two samples are masked."""
SPLITS = (
    [[0, 1, 2, 3, 4, 5, 6, 7]],
    [[0], [1], [2], [3], [4], [5], [6], [7]],
    [[7, 3], [2], [6, 0, 5], [], [4, 1]],
)
SETTINGS = [
    {"aggregation": "sample_mean", "masked_samples": "count"},
    {"aggregation": "sample_mean", "masked_samples": "skip"},
    {"aggregation": "token_mean"},
]
KL_COEF = 0.3
GEO_MASK = {"mismatch": "geo_mask", "geo_mask_low": 0.8, "geo_mask_high": 1.25}
"""Keeps two of the six samples that have tokens."""


@pytest.fixture
def batch():
    """Random log-probs (old, new, rollout, reference) of a padded batch, an advantage per
    sample."""
    generator = torch.Generator().manual_seed(0)
    shape = (len(LENGTHS), max(LENGTHS))
    old, new, rollout = (
        -2 * torch.rand(shape, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    advantages = torch.randn(len(LENGTHS), generator=generator, dtype=torch.float64)
    reference = -2 * torch.rand(shape, generator=generator, dtype=torch.float64)
    return old, new, rollout, reference, advantages


def select(rows):
    """Return row and column of the trained tokens of a micro-batch, and each one's sample in it."""
    owners = [index for index, row in enumerate(rows) for _ in range(LENGTHS[row])]
    columns = [column for row in rows for column in range(LENGTHS[row])]
    sample_index_N = torch.tensor(owners, dtype=torch.int64)
    rows_N = torch.tensor(rows, dtype=torch.int64)[sample_index_N]
    return rows_N, torch.tensor(columns, dtype=torch.int64), sample_index_N


def total_loss(batch, split, config, denominator=None):
    """Sum the micro-batches' losses and divide once; return loss and gradient."""
    old, new, rollout, reference, advantages = batch
    new = new.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for rows in split:
        rows_N, columns_N, owners_N = select(rows)
        new_N, old_N = new[rows_N, columns_N], old[rows_N, columns_N]
        num_trained_S = torch.tensor([LENGTHS[row] for row in rows], dtype=torch.int64)
        weights_N = mismatch_weights(old_N, rollout[rows_N, columns_N], owners_N, config)
        scales_N = token_scales(num_trained_S, owners_N, config, torch.float64)
        total = total + policy_loss(new_N, old_N, advantages[rows_N], weights_N, scales_N, config)
        total = total + config.kl_coef * reference_penalty(
            new_N, reference[rows_N, columns_N], weights_N, scales_N
        )
    loss = total / (denominator or batch_denominator(LENGTHS, config))
    loss.backward()
    return loss.item(), new.grad


@pytest.mark.parametrize("options", [{}, {"kl_coef": KL_COEF}, {"kl_coef": KL_COEF, **GEO_MASK}])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("split", SPLITS[1:])
def test_loss_and_gradient_are_independent_of_the_split(batch, settings, options, split):
    config = AlgorithmConfig(**settings, **options)
    loss, gradient = total_loss(batch, split, config)
    whole_loss, whole_gradient = total_loss(batch, SPLITS[0], config)
    assert loss == pytest.approx(whole_loss, rel=1e-13)
    assert torch.allclose(gradient, whole_gradient, rtol=1e-13, atol=0)


@pytest.mark.parametrize("kl_coef", [0.0, KL_COEF])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_whole_batch_equals_the_printed_formula(batch, settings, kl_coef):
    config = AlgorithmConfig(**settings, kl_coef=kl_coef)
    old, new, rollout, reference, advantages = batch
    sums = []
    for row, length in enumerate(LENGTHS):
        ratio = (new[row, :length] - old[row, :length]).exp()
        weight = (old[row, :length] - rollout[row, :length]).exp().clamp(max=2.0)
        surrogate = torch.minimum(ratio * advantages[row], ratio.clamp(0.8, 1.2) * advantages[row])
        log_ratio = reference[row, :length] - new[row, :length]
        k3 = log_ratio.exp() - log_ratio - 1
        sums.append((kl_coef * k3 - weight * surrogate).sum().item())
    if config.aggregation == "token_mean":
        expected = sum(sums) / sum(LENGTHS)
    else:
        means = [total / length for total, length in zip(sums, LENGTHS, strict=True) if length]
        expected = sum(means) / (8 if config.masked_samples == "count" else 6)
    assert total_loss(batch, SPLITS[0], config)[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("settings", SETTINGS)
def test_flat_groups_contribute_nothing_and_rescale_nobody(batch, settings):
    config = AlgorithmConfig(**settings)
    flat = [3, 4]
    batch[-1][flat] = 0.0
    loss, gradient = total_loss(batch, SPLITS[0], config)
    assert not gradient[flat].any()
    others = [[row for row in SPLITS[0][0] if row not in flat]]
    without = total_loss(batch, others, config, denominator=batch_denominator(LENGTHS, config))
    assert loss == pytest.approx(without[0], rel=1e-13)
    assert torch.equal(gradient, without[1])


def test_metrics_of_parts_merge_to_those_of_the_whole(batch):
    config = AlgorithmConfig(**GEO_MASK)
    old, new, rollout, reference, advantages = batch

    def metrics(rows):
        rows_N, columns_N, owners_N = select(rows)
        new_N, old_N = new[rows_N, columns_N], old[rows_N, columns_N]
        return {
            **policy_metrics(new_N, old_N, advantages[rows_N], config),
            **mismatch_metrics(old_N, rollout[rows_N, columns_N], owners_N, config),
            **reference_metrics(new_N, reference[rows_N, columns_N]),
        }

    whole = metrics(SPLITS[0][0])
    merged = merge_all(metrics(rows) for rows in SPLITS[2])
    assert merged.keys() == whole.keys()
    assert 0 < whole["mismatch/geo_masked_share"].value < 1
    for key, reduction in whole.items():
        assert merged[key].value == pytest.approx(reduction.value, rel=1e-13), key


def test_policy_metrics_equal_a_hand_computation():
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5], dtype=torch.float64)
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    config = AlgorithmConfig(clip_low=0.2, clip_high=0.28)
    metrics = policy_metrics(ratio.log(), torch.zeros(4, dtype=torch.float64), advantages, config)
    k3 = (2 * (0.5 - 0.4054651081081644) + 2 * (-0.5 + 0.6931471805599453)) / 4
    assert {key: reduction.value for key, reduction in metrics.items()} == pytest.approx(
        {
            "loss/clip_low_share": 0.25,
            "loss/clip_high_share": 0.25,
            "loss/approx_kl": k3,
            "loss/ratio_mean": 1.0,
            "loss/ratio_max": 1.5,
        },
        rel=1e-12,
    )


def test_a_small_step_has_a_kl_that_float32_can_show():
    old = torch.full((1000,), -1.0)
    new = old + 2.0**-12
    step = float((new - old).double()[0])
    kl = policy_metrics(new, old, torch.ones(1000), AlgorithmConfig())["loss/approx_kl"].value
    assert kl == pytest.approx(step**2 / 2, rel=1e-3)


def test_an_exploding_ratio_stays_finite():
    logprobs = torch.tensor([-0.1]).requires_grad_()
    one = torch.ones(1)
    loss = policy_loss(logprobs, -1e4 * one, -one, one, one, AlgorithmConfig())
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logprobs.grad).all()
