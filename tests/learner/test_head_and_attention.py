"""Log-prob head and packed attention against the plain formulas."""

import pytest
import torch

from mgpo.learner.attention import packed_sdpa, plan_attention
from mgpo.learner.head import chunk_tokens_from_budget, token_logprobs

VOCAB_SIZE = 37


def make_inputs(num_tokens, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    hidden = torch.randn(num_tokens, 8, dtype=dtype, requires_grad=True)
    weight = torch.randn(48, 8, dtype=dtype, requires_grad=True)
    targets = torch.randint(VOCAB_SIZE, (num_tokens,))
    return hidden, weight, targets


def plain(hidden, weight, targets, temperature):
    logits = (hidden @ weight[:VOCAB_SIZE].T).float() / temperature
    logprobs = logits.log_softmax(-1)
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy


@pytest.mark.parametrize("chunk_tokens", [1, 7, 20, 1000])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_head_equals_log_softmax_in_value_and_gradient(chunk_tokens, temperature):
    hidden, weight, targets = make_inputs(20)
    scales = torch.randn(20)
    expected, entropy = plain(hidden, weight, targets, temperature)
    expected_grads = torch.autograd.grad((expected * scales).sum(), (hidden, weight))
    got, got_entropy = token_logprobs(
        hidden,
        weight,
        targets,
        vocab_size=VOCAB_SIZE,
        temperature=temperature,
        chunk_tokens=chunk_tokens,
    )
    grads = torch.autograd.grad((got * scales).sum(), (hidden, weight))
    assert torch.allclose(got, expected, atol=1e-5)
    assert torch.allclose(got_entropy, entropy, atol=1e-5)
    for ours, theirs in zip(grads, expected_grads, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_padded_rows_of_the_head_get_no_gradient():
    hidden, weight, targets = make_inputs(20)
    logprobs, _ = token_logprobs(
        hidden, weight, targets, vocab_size=VOCAB_SIZE, temperature=1.0, chunk_tokens=6
    )
    logprobs.sum().backward()
    assert float(weight.grad[VOCAB_SIZE:].abs().max()) == 0.0
    assert float(weight.grad[:VOCAB_SIZE].abs().max()) > 0.0


def test_head_in_bfloat16_keeps_float32_logprobs():
    hidden, weight, targets = make_inputs(20, dtype=torch.bfloat16)
    logprobs, entropy = token_logprobs(
        hidden, weight, targets, vocab_size=VOCAB_SIZE, temperature=1.0, chunk_tokens=6
    )
    logprobs.sum().backward()
    assert logprobs.dtype == entropy.dtype == torch.float32
    assert hidden.grad.dtype == weight.grad.dtype == torch.bfloat16
    expected, _ = plain(hidden, weight, targets, 1.0)
    assert torch.allclose(logprobs, expected, atol=1e-5)


def test_no_token_at_all_has_a_zero_gradient():
    hidden, weight, targets = make_inputs(0)
    logprobs, _ = token_logprobs(
        hidden, weight, targets, vocab_size=VOCAB_SIZE, temperature=1.0, chunk_tokens=6
    )
    logprobs.sum().backward()
    assert float(weight.grad.abs().max()) == 0.0


def test_a_small_vocabulary_fits_into_one_chunk_and_a_large_one_does_not():
    assert chunk_tokens_from_budget(320, 512) > 400_000
    assert chunk_tokens_from_budget(151_936, 512) == 883
    assert chunk_tokens_from_budget(10**9, 1) == 1


@pytest.mark.parametrize(
    "lengths", [[5], [4, 4, 4], [9, 8, 8, 7], [30, 3, 2, 2], [1, 1, 1], [40, 39, 5, 4, 1]]
)
def test_packed_attention_equals_each_row_alone(lengths):
    torch.manual_seed(1)
    total = sum(lengths)
    query = torch.randn(1, 4, total, 8, requires_grad=True)
    key = torch.randn(1, 2, total, 8, requires_grad=True)
    value = torch.randn(1, 2, total, 8, requires_grad=True)
    expected = []
    start = 0
    for length in lengths:
        q, k, v = (x[:, :, start : start + length] for x in (query, key, value))
        k, v = (x.repeat_interleave(2, dim=1) for x in (k, v))
        mask = torch.ones(length, length).tril().bool()
        scores = (q @ k.transpose(2, 3)) * 0.3
        out = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v
        expected.append(out.transpose(1, 2))
        start += length
    expected = torch.cat(expected, dim=1)
    got, _ = packed_sdpa(
        torch.nn.Identity(), query, key, value, None, scaling=0.3, layout=plan_attention(lengths)
    )
    assert torch.allclose(got, expected, atol=1e-5)
    scales = torch.randn_like(expected)
    ours = torch.autograd.grad((got * scales).sum(), (query, key, value))
    theirs = torch.autograd.grad((expected * scales).sum(), (query, key, value))
    for left, right in zip(ours, theirs, strict=True):
        assert torch.allclose(left, right, atol=1e-5)


def test_blocks_waste_little_and_cover_every_token():
    lengths = sorted([int(2 ** (i / 7)) + 1 for i in range(60)], reverse=True)
    layout = plan_attention(lengths)
    assert sum(block.num_tokens for block in layout.blocks) == sum(lengths)
    padded = sum(block.num_rows * block.max_len for block in layout.blocks)
    assert padded <= 1.2 * sum(lengths)
    assert len(layout.blocks) < 20
