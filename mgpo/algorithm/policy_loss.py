"""The clipped objective and its aggregation, as an un-normalised sum (docs/loss.md).

The learner adds these sums over micro-batches and ranks and divides once by `batch_denominator`,
so a gradient cannot depend on how a batch was split.
Shape suffixes: N trained tokens of a micro-batch, S its samples.
"""

from collections.abc import Sequence

import torch

from mgpo.algorithm.mismatch import bounded_exp
from mgpo.algorithm.reductions import Max, Mean, Reductions
from mgpo.config.algorithm import AlgorithmConfig


def batch_denominator(num_trained_S: Sequence[int], config: AlgorithmConfig) -> float:
    """Return what the summed gradients of a whole batch are divided by, at least 1.

    sample_mean and constant: the number of samples, those of flat groups included (a sample without
    a trained token by `masked_samples`); token_mean: the number of trained tokens.
    """
    if config.aggregation == "token_mean":
        count = sum(num_trained_S)
    elif config.masked_samples == "skip":
        count = sum(num > 0 for num in num_trained_S)
    else:
        count = len(num_trained_S)
    return float(max(1, count))


def token_scales(
    num_trained_S: torch.Tensor,
    sample_index_N: torch.Tensor,
    config: AlgorithmConfig,
    dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """Return each token's share of its sample: 1/|y_i| for sample_mean, 1 for token_mean, and
    1/constant_length for constant."""
    if config.aggregation == "token_mean":
        return torch.ones_like(sample_index_N, dtype=dtype)
    if config.constant_length is not None:
        return torch.full_like(sample_index_N, 1 / config.constant_length, dtype=dtype)
    return num_trained_S.to(dtype)[sample_index_N].reciprocal()


def clipped_losses(
    logprobs_N: torch.Tensor,
    old_logprobs_N: torch.Tensor,
    advantages_N: torch.Tensor,
    config: AlgorithmConfig,
) -> torch.Tensor:
    """Return -min(rho A, clip(rho, 1 - low, 1 + high) A) of each token, rho = pi / pi_old.

    With `dual_clip` c, and A < 0, at most -c A (Ye et al. 2020).
    """
    ratio_N = bounded_exp(logprobs_N - old_logprobs_N)
    clipped_N = ratio_N.clamp(1 - config.clip_low, 1 + config.clip_high)
    losses_N = -torch.minimum(ratio_N * advantages_N, clipped_N * advantages_N)
    if config.dual_clip is None:
        return losses_N
    bounded_N = torch.minimum(losses_N, -config.dual_clip * advantages_N)
    return torch.where(advantages_N < 0, bounded_N, losses_N)


def policy_loss(
    logprobs_N: torch.Tensor,
    old_logprobs_N: torch.Tensor,
    advantages_N: torch.Tensor,
    weights_N: torch.Tensor,
    scales_N: torch.Tensor,
    config: AlgorithmConfig,
) -> torch.Tensor:
    """Return the un-normalised loss: sum of scale x mismatch weight x clipped loss over tokens."""
    losses_N = clipped_losses(logprobs_N, old_logprobs_N, advantages_N, config)
    return (scales_N * weights_N * losses_N).sum()


def policy_metrics(
    logprobs_N: torch.Tensor,
    old_logprobs_N: torch.Tensor,
    advantages_N: torch.Tensor,
    config: AlgorithmConfig,
) -> Reductions:
    """Return the shares of tokens whose gradient the clip removes, and the size of the step.

    approx_kl is mean(rho - 1 - ln rho), an estimate of KL(pi_old || pi), in float64: in float32 the
    difference of a small step is all rounding.
    """
    count = logprobs_N.numel()
    if count == 0:
        return {}
    log_ratio_N = (logprobs_N.detach() - old_logprobs_N).double()
    ratio_N = bounded_exp(log_ratio_N)
    is_low_N = (ratio_N < 1 - config.clip_low) & (advantages_N < 0)
    is_high_N = (ratio_N > 1 + config.clip_high) & (advantages_N > 0)
    return {
        "loss/clip_low_share": Mean(float(is_low_N.sum()), count),
        "loss/clip_high_share": Mean(float(is_high_N.sum()), count),
        "loss/approx_kl": Mean(float((ratio_N - 1 - log_ratio_N).sum()), count),
        "loss/ratio_mean": Mean(float(ratio_N.sum()), count),
        "loss/ratio_max": Max(float(ratio_N.max())),
    }
