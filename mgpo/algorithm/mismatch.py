"""Correction for engine and learner log-probs that differ (Yao et al. 2025, token-level TIS).

Shape suffixes: N trained tokens of a micro-batch, S its samples, each of them whole.
"""

from collections.abc import Callable

import torch

from mgpo.algorithm.reductions import EffectiveShare, Max, Mean, Reductions
from mgpo.config.algorithm import AlgorithmConfig

_MAX_LOG_RATIO = 20.0


def mismatch_weights(
    old_logprobs_N: torch.Tensor,
    rollout_logprobs_N: torch.Tensor,
    sample_index_N: torch.Tensor,
    config: AlgorithmConfig,
) -> torch.Tensor:
    """Return the detached weight of each token by the correction that `config.mismatch` names.

    `sample_index_N` says which sample of the micro-batch a token belongs to.
    """
    log_ratio_N = (old_logprobs_N - rollout_logprobs_N).detach()
    return CORRECTIONS[config.mismatch](log_ratio_N, sample_index_N, config)


def truncated_importance_weights(
    log_ratio_N: torch.Tensor, sample_index_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return min(pi_old / mu, C): cut above only, and a cut token keeps its gradient."""
    return bounded_exp(log_ratio_N).clamp(max=config.mismatch_cap)


def masked_importance_weights(
    log_ratio_N: torch.Tensor, sample_index_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return pi_old / mu where it lies between floor and C, else 0 (IcePop, Ling team 2025)."""
    ratio_N = bounded_exp(log_ratio_N)
    is_near_N = (ratio_N >= config.mismatch_floor) & (ratio_N <= config.mismatch_cap)
    return ratio_N * is_near_N


def geometric_mask(
    log_ratio_N: torch.Tensor, sample_index_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return 1 for the tokens of the samples that `is_near_sample` keeps, 0 for the others."""
    is_near_S = is_near_sample(log_ratio_N, sample_index_N, config)
    return is_near_S[sample_index_N].to(log_ratio_N.dtype)


def no_correction(
    log_ratio_N: torch.Tensor, sample_index_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return 1 for each token."""
    return torch.ones_like(log_ratio_N)


Correction = Callable[[torch.Tensor, torch.Tensor, AlgorithmConfig], torch.Tensor]
CORRECTIONS: dict[str, Correction] = {
    "token_tis": truncated_importance_weights,
    "icepop": masked_importance_weights,
    "geo_mask": geometric_mask,
    "none": no_correction,
}
"""Values of `algorithm.mismatch`; each takes ln(pi_old / mu), the tokens' samples, the settings."""


def is_near_sample(
    log_ratio_N: torch.Tensor, sample_index_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return whether geo_mask_low <= exp(mean ln(pi_old / mu)) <= geo_mask_high, per sample (S).

    S ends with the last sample that has a token; one without any is not near. In float64: the
    bounds are closer to 1 than float32 sums of long samples are exact.
    """
    num_tokens_S = torch.bincount(sample_index_N)
    total_S = torch.zeros_like(num_tokens_S, dtype=torch.float64)
    total_S.index_add_(0, sample_index_N, log_ratio_N.double())
    mean_S = (total_S / num_tokens_S).exp()
    return (mean_S >= config.geo_mask_low) & (mean_S <= config.geo_mask_high)


def bounded_exp(log_ratio_N: torch.Tensor) -> torch.Tensor:
    """Return exp(x) with x clamped to +-20, as verl does, so that nothing overflows."""
    return log_ratio_N.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def mismatch_metrics(
    old_logprobs_N: torch.Tensor,
    rollout_logprobs_N: torch.Tensor,
    sample_index_N: torch.Tensor,
    config: AlgorithmConfig,
) -> Reductions:
    """Return how far the two distributions are apart on the sampled tokens.

    kl is the mean of ln mu - ln pi_old over tokens sampled from mu, which estimates
    KL(mu || pi_old); kl_k3 estimates the same with less variance: mean(r - 1 - ln r),
    r = pi_old / mu.
    capped_share and effective_share describe token-level TIS, geo_masked_share the geometric mask,
    whatever `mismatch` is.
    """
    count = old_logprobs_N.numel()
    if count == 0:
        return {}
    old_N, rollout_N = old_logprobs_N.detach().double(), rollout_logprobs_N.double()
    log_ratio_N = old_N - rollout_N
    ratio_N = bounded_exp(log_ratio_N)
    weights_N = truncated_importance_weights(log_ratio_N, sample_index_N, config)
    num_samples = float((torch.bincount(sample_index_N) > 0).sum())
    num_near = float(is_near_sample(log_ratio_N, sample_index_N, config).sum())
    return {
        "mismatch/prob_gap_max": Max(float((old_N.exp() - rollout_N.exp()).abs().max())),
        "mismatch/kl": Mean(-float(log_ratio_N.sum()), count),
        "mismatch/kl_k3": Mean(float((ratio_N - 1 - log_ratio_N).sum()), count),
        "mismatch/ratio_max": Max(float(ratio_N.max())),
        "mismatch/capped_share": Mean(float((ratio_N > config.mismatch_cap).sum()), count),
        "mismatch/effective_share": EffectiveShare(
            float(weights_N.sum()), float(weights_N.square().sum()), count
        ),
        "mismatch/geo_masked_share": Mean(num_samples - num_near, num_samples),
    }
