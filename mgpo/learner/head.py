"""The output head: log-probabilities and entropies without ever holding all logits.

Shape suffixes: N trained tokens, C tokens of a chunk, D hidden width, V vocabulary.
"""

from typing import Any

import torch

_BYTES_PER_LOGIT = 4


def chunk_tokens_from_budget(vocab_size: int, budget_mib: int) -> int:
    """Tokens whose float32 logits fit into a budget; at least 1."""
    return max(1, budget_mib * 2**20 // (_BYTES_PER_LOGIT * vocab_size))


def token_logprobs(
    hidden_ND: torch.Tensor,
    weight_VD: torch.Tensor,
    targets_N: torch.Tensor,
    *,
    vocab_size: int,
    temperature: float,
    chunk_tokens: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log-probabilities (N, with gradient) and entropies (N, without) of the next token.

    The distribution is softmax(logits / temperature) over the ids below `vocab_size`; the padded
    rows of the head have probability zero. Logits of at most `chunk_tokens` tokens are alive at
    once; if all tokens fit into one chunk they are kept for the backward pass instead of computed
    again.
    """
    return _HeadLogprobs.apply(
        hidden_ND, weight_VD, targets_N, vocab_size, temperature, chunk_tokens
    )


def _scaled_logits(
    hidden_CD: torch.Tensor, weight_VD: torch.Tensor, vocab_size: int, temperature: float
) -> torch.Tensor:
    logits_CV = (hidden_CD @ weight_VD[:vocab_size].T).float()
    return logits_CV if temperature == 1.0 else logits_CV.div_(temperature)


class _HeadLogprobs(torch.autograd.Function):
    """Linear head, log-softmax and gather in chunks, recomputed in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: torch.Tensor,
        weight_VD: torch.Tensor,
        targets_N: torch.Tensor,
        vocab_size: int,
        temperature: float,
        chunk_tokens: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        num_tokens = hidden_ND.shape[0]
        logprobs_N = hidden_ND.new_empty(num_tokens, dtype=torch.float32)
        entropy_N = torch.empty_like(logprobs_N)
        logsumexp_N = torch.empty_like(logprobs_N)
        kept_probs = None
        for start in range(0, num_tokens, chunk_tokens):
            part = slice(start, start + chunk_tokens)
            logits_CV = _scaled_logits(hidden_ND[part], weight_VD, vocab_size, temperature)
            logsumexp_N[part] = logits_CV.logsumexp(-1)
            target_logits_C = logits_CV.gather(-1, targets_N[part, None])[:, 0]
            logprobs_N[part] = target_logits_C - logsumexp_N[part]
            probs_CV = (logits_CV - logsumexp_N[part, None]).exp_()
            entropy_N[part] = logsumexp_N[part] - torch.linalg.vecdot(probs_CV, logits_CV)
            if num_tokens <= chunk_tokens:
                kept_probs = probs_CV
        ctx.save_for_backward(hidden_ND, weight_VD, targets_N, logsumexp_N, kept_probs)
        ctx.settings = (vocab_size, temperature, chunk_tokens)
        ctx.mark_non_differentiable(entropy_N)
        return logprobs_N, entropy_N

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        grad_N = grads[0]
        hidden_ND, weight_VD, targets_N, logsumexp_N, kept_probs = ctx.saved_tensors
        vocab_size, temperature, chunk_tokens = ctx.settings
        grad_hidden_ND = torch.empty_like(hidden_ND)
        grad_weight_VD = torch.zeros_like(weight_VD, dtype=torch.float32)
        for start in range(0, hidden_ND.shape[0], chunk_tokens):
            part = slice(start, start + chunk_tokens)
            if kept_probs is None:
                logits_CV = _scaled_logits(hidden_ND[part], weight_VD, vocab_size, temperature)
                probs_CV = logits_CV.sub_(logsumexp_N[part, None]).exp_()
            else:
                probs_CV = kept_probs.clone()
            # d logprob / d logits = onehot(target) - softmax
            scale_C1 = grad_N[part, None] / temperature
            grad_logits_CV = probs_CV.mul_(-scale_C1)
            grad_logits_CV.scatter_add_(-1, targets_N[part, None], scale_C1)
            grad_logits_CV = grad_logits_CV.to(weight_VD.dtype)
            grad_hidden_ND[part] = grad_logits_CV @ weight_VD[:vocab_size]
            grad_weight_VD[:vocab_size] += (grad_logits_CV.T @ hidden_ND[part]).float()
        return grad_hidden_ND, grad_weight_VD.to(weight_VD.dtype), None, None, None, None
