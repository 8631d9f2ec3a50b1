"""The pull towards a frozen reference policy: the k3 estimate of KL(pi || pi_ref), per token.

k3 = r - 1 - ln r with r = pi_ref / pi on tokens sampled from pi: never negative, unbiased
(Schulman, "Approximating KL divergence", 2020). It is part of the loss, not of the reward.
Shape suffix: N trained tokens of a micro-batch.
"""

import torch

from mgpo.algorithm.reductions import Mean, Reductions

_MAX_LOG_RATIO = 20.0


def k3_estimates(logprobs_N: torch.Tensor, ref_logprobs_N: torch.Tensor) -> torch.Tensor:
    """Return r - 1 - ln r of each token, with gradient 1 - r.

    ln r is clamped to +-20, beyond which a token has no gradient: r would overflow.
    """
    log_ratio_N = (ref_logprobs_N - logprobs_N).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    # expm1: near the reference r - 1 in float32 is all rounding.
    return torch.expm1(log_ratio_N) - log_ratio_N


def reference_penalty(
    logprobs_N: torch.Tensor,
    ref_logprobs_N: torch.Tensor,
    weights_N: torch.Tensor,
    scales_N: torch.Tensor,
) -> torch.Tensor:
    """Return the un-normalised penalty: sum of scale x k3 over the tokens that are not masked.

    `weights_N` are the mismatch weights: a token of weight 0 is left out, the others count whole.
    """
    return (scales_N * (weights_N > 0) * k3_estimates(logprobs_N, ref_logprobs_N)).sum()


def reference_metrics(logprobs_N: torch.Tensor, ref_logprobs_N: torch.Tensor) -> Reductions:
    """Return the mean estimate over all trained tokens, masked or not, in float64."""
    estimates_N = k3_estimates(logprobs_N.detach().double(), ref_logprobs_N.double())
    return {"loss/kl_ref": Mean(float(estimates_N.sum()), estimates_N.numel())}
