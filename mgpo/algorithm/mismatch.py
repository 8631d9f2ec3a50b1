"""Correction for engine and learner log-probs that differ (Yao et al. 2025, token-level TIS).

Shape suffix: N trained tokens.
"""

import torch

from mgpo.algorithm.reductions import EffectiveShare, Max, Mean, Reductions
from mgpo.config.algorithm import AlgorithmConfig

_MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to +-20 before exponentials, as verl does, so that none overflows."""


def mismatch_weights(
    old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return the detached weight of each token: min(pi_old / mu, C) for `token_tis`, 1 for `none`."""
    if config.mismatch == "none":
        return torch.ones_like(old_logprobs_N)
    return mismatch_ratios(old_logprobs_N, rollout_logprobs_N).clamp(max=config.mismatch_cap)


def mismatch_ratios(old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor) -> torch.Tensor:
    """Return pi_old / mu of each token, detached."""
    log_ratio_N = (old_logprobs_N - rollout_logprobs_N).detach()
    return log_ratio_N.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def mismatch_metrics(
    old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor, config: AlgorithmConfig
) -> Reductions:
    """Return how far the two distributions are apart on the sampled tokens.

    kl is the mean of ln mu - ln pi_old over tokens sampled from mu, an estimate of KL(mu || pi_old);
    kl_k3 the estimate of the same with less variance, mean(r - 1 - ln r), r = pi_old / mu.
    """
    count = old_logprobs_N.numel()
    if count == 0:
        return {}
    old_N, rollout_N = old_logprobs_N.detach().double(), rollout_logprobs_N.double()
    log_ratio_N = old_N - rollout_N
    ratio_N = mismatch_ratios(old_N, rollout_N)
    weights_N = ratio_N.clamp(max=config.mismatch_cap)
    return {
        "mismatch/prob_gap_max": Max(float((old_N.exp() - rollout_N.exp()).abs().max())),
        "mismatch/kl": Mean(-float(log_ratio_N.sum()), count),
        "mismatch/kl_k3": Mean(float((ratio_N - 1 - log_ratio_N).sum()), count),
        "mismatch/ratio_max": Max(float(ratio_N.max())),
        "mismatch/capped_share": Mean(float((ratio_N > config.mismatch_cap).sum()), count),
        "mismatch/effective_share": EffectiveShare(
            float(weights_N.sum()), float(weights_N.square().sum()), count
        ),
    }
