"""Correction for engine and learner log-probs that differ (Yao et al. 2025, token-level TIS).

Shape suffix: N trained tokens.
"""

from collections.abc import Callable

import torch

from mgpo.algorithm.reductions import EffectiveShare, Max, Mean, Reductions
from mgpo.config.algorithm import AlgorithmConfig

_MAX_LOG_RATIO = 20.0


def mismatch_weights(
    old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor, config: AlgorithmConfig
) -> torch.Tensor:
    """Return the detached weight of each token by the correction that `config.mismatch` names."""
    return CORRECTIONS[config.mismatch](
        mismatch_ratios(old_logprobs_N, rollout_logprobs_N), config.mismatch_cap
    )


def truncated_importance_weights(ratio_N: torch.Tensor, cap: float) -> torch.Tensor:
    """Return min(pi_old / mu, C): cut above only, and a cut token keeps its gradient."""
    return ratio_N.clamp(max=cap)


def no_correction(ratio_N: torch.Tensor, cap: float) -> torch.Tensor:
    """Return 1 for each token."""
    return torch.ones_like(ratio_N)


CORRECTIONS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "token_tis": truncated_importance_weights,
    "none": no_correction,
}
"""Values of `algorithm.mismatch`; each takes the ratios and the cap."""


def mismatch_ratios(old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor) -> torch.Tensor:
    """Return pi_old / mu of each token, detached."""
    return bounded_exp((old_logprobs_N - rollout_logprobs_N).detach())


def bounded_exp(log_ratio_N: torch.Tensor) -> torch.Tensor:
    """Return exp(x) with x clamped to +-20, as verl does, so that nothing overflows."""
    return log_ratio_N.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def mismatch_metrics(
    old_logprobs_N: torch.Tensor, rollout_logprobs_N: torch.Tensor, config: AlgorithmConfig
) -> Reductions:
    """Return how far the two distributions are apart on the sampled tokens.

    kl is the mean of ln mu - ln pi_old over tokens sampled from mu, which estimates
    KL(mu || pi_old); kl_k3 estimates the same with less variance: mean(r - 1 - ln r),
    r = pi_old / mu.
    capped_share and effective_share describe token-level TIS, also while `mismatch` is none.
    """
    count = old_logprobs_N.numel()
    if count == 0:
        return {}
    old_N, rollout_N = old_logprobs_N.detach().double(), rollout_logprobs_N.double()
    log_ratio_N = old_N - rollout_N
    ratio_N = mismatch_ratios(old_N, rollout_N)
    weights_N = truncated_importance_weights(ratio_N, config.mismatch_cap)
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
