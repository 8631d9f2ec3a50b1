"""One token per row: the distribution, a seeded draw from it, and the log-prob of what was drawn.

Shape suffixes: B rows, V vocabulary.
"""

import torch

from mgpo.rollout.engine import SamplingParams

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def uniforms(seeds_B: torch.Tensor, position: int) -> torch.Tensor:
    """Return one number in [0, 1) per row, a pure function of its seed and the position.

    SplitMix64 (Steele et al. 2014) as a counter-based generator: no state per row is kept, and a
    row draws the same whatever else is in the batch. Multiplication wraps modulo 2^64.
    """
    state_B = seeds_B + torch.tensor(position + 1, device=seeds_B.device) * _GOLDEN
    state_B = (state_B ^ _shift_right(state_B, 30)) * _MIX_1
    state_B = (state_B ^ _shift_right(state_B, 27)) * _MIX_2
    state_B = state_B ^ _shift_right(state_B, 31)
    return _shift_right(state_B, 11).double() / 2**53


def _shift_right(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift of signed 64-bit integers."""
    return (values >> bits) & (2 ** (64 - bits) - 1)


def sample_tokens(
    logits_BV: torch.Tensor, uniforms_B: torch.Tensor, sampling: SamplingParams
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids (B) drawn by inverse CDF, and their log-probs (B) under what was drawn from.

    `logits_BV` holds sampleable ids only. Filters apply in the order temperature, top-k, top-p,
    min-p, as vLLM applies them. The CDF is in float64: with 150,000 ids, the rounding of float32
    would rival the probability of rare ones.
    """
    logprobs_BV = (logits_BV.float() / sampling.temperature).log_softmax(-1)
    if sampling.top_k > 0 or sampling.top_p < 1.0 or sampling.min_p > 0.0:
        logprobs_BV = _filtered(logprobs_BV, sampling).log_softmax(-1)
    cdf_BV = logprobs_BV.double().exp().cumsum(-1)
    # Scaled by the last entry, so that rounding in the sum can never leave the vocabulary; the
    # first entry strictly above the draw has a probability above zero.
    draws_B1 = (uniforms_B * cdf_BV[:, -1])[:, None]
    ids_B1 = torch.searchsorted(cdf_BV, draws_B1, right=True)
    return ids_B1[:, 0], logprobs_BV.gather(-1, ids_B1)[:, 0]


def _filtered(logprobs_BV: torch.Tensor, sampling: SamplingParams) -> torch.Tensor:
    sorted_BV, order_BV = logprobs_BV.sort(-1, descending=True)
    keep_BV = torch.ones_like(sorted_BV, dtype=torch.bool)
    if sampling.top_k > 0:
        keep_BV[:, sampling.top_k :] = False
    if sampling.top_p < 1.0:
        probs_BV = sorted_BV.masked_fill(~keep_BV, -torch.inf).softmax(-1)
        keep_BV &= probs_BV.cumsum(-1) - probs_BV < sampling.top_p
    if sampling.min_p > 0.0:
        keep_BV &= sorted_BV >= sorted_BV[:, :1] + torch.tensor(sampling.min_p).log()
    keep_BV[:, 0] = True
    kept_BV = torch.zeros_like(keep_BV).scatter(-1, order_BV, keep_BV)
    return logprobs_BV.masked_fill(~kept_BV, -torch.inf)
