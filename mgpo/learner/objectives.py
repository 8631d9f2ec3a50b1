"""What a micro-batch is trained on: an un-normalised loss and metrics that merge exactly."""

from collections.abc import Callable

import torch

from mgpo.algorithm.mismatch import mismatch_metrics, mismatch_weights
from mgpo.algorithm.policy_loss import policy_loss, policy_metrics, token_scales
from mgpo.algorithm.reductions import Mean, Reductions, Sum
from mgpo.algorithm.reference_kl import reference_metrics, reference_penalty
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.learner.batch import PackedBatch

Objective = Callable[
    [PackedBatch, torch.Tensor, torch.Tensor, AlgorithmConfig, float],
    tuple[torch.Tensor, Reductions],
]
"""(batch, logprobs_N, entropy_N, algorithm, denominator of the whole batch) -> (loss, metrics)."""


def policy_objective(
    batch: PackedBatch,
    logprobs_N: torch.Tensor,
    entropy_N: torch.Tensor,
    config: AlgorithmConfig,
    denominator: float,
) -> tuple[torch.Tensor, Reductions]:
    """The MGPO objective; without stored old log-probs the current ones serve, detached.

    Log-probs of a reference, where the batch has them, add `kl_coef` times the penalty.
    """
    old_N = logprobs_N.detach() if batch.old_logprobs_N is None else batch.old_logprobs_N
    rollout_N, owners_N = batch.rollout_logprobs_N, batch.sample_index_N
    weights_N = mismatch_weights(old_N, rollout_N, owners_N, config)
    scales_N = token_scales(batch.num_trained_S, owners_N, config)
    loss = policy_loss(logprobs_N, old_N, batch.advantages_N, weights_N, scales_N, config)
    metrics: Reductions = {
        "loss/policy": Sum(float(loss.detach()) / denominator),
        "loss/entropy": Mean(float(entropy_N.sum()), entropy_N.numel()),
        **policy_metrics(logprobs_N, old_N, batch.advantages_N, config),
        **mismatch_metrics(old_N, rollout_N, owners_N, config),
    }
    if batch.ref_logprobs_N is not None:
        penalty = reference_penalty(logprobs_N, batch.ref_logprobs_N, weights_N, scales_N)
        loss = loss + config.kl_coef * penalty
        metrics |= reference_metrics(logprobs_N, batch.ref_logprobs_N)
    return loss, metrics


def sft_objective(
    batch: PackedBatch,
    logprobs_N: torch.Tensor,
    entropy_N: torch.Tensor,
    config: AlgorithmConfig,
    denominator: float,
) -> tuple[torch.Tensor, Reductions]:
    """Negative log-likelihood of the response tokens, mean over the tokens of the whole batch."""
    loss = -(logprobs_N * token_scales(batch.num_trained_S, batch.sample_index_N, config)).sum()
    metrics: Reductions = {
        "loss/sft": Sum(float(loss.detach()) / denominator),
        "loss/entropy": Mean(float(entropy_N.sum()), entropy_N.numel()),
    }
    return loss, metrics


OBJECTIVES: dict[str, Objective] = {"policy": policy_objective, "sft": sft_objective}
