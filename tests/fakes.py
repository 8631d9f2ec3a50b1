"""A real tokenizer and a real model, as small as they get, so that no test downloads anything."""

from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CONTEXT_TOKENS = 512
PADDED_VOCABULARY = 288
"""Rows of the embedding: more than the tokenizer has ids (259), as in the large models."""


def make_tokenizer(directory: Path | str) -> Qwen2Tokenizer:
    """Save a tokenizer with one id per byte and a ChatML template into the folder."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Qwen2Tokenizer(
        vocab={token: index for index, token in enumerate(alphabet)},
        merges=[],
        unk_token=None,
        pad_token=PAD,
        eos_token=END,
        extra_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT_TOKENS,
    )
    tokenizer.save_pretrained(directory)
    return tokenizer


def make_model(
    directory: Path | str, seed: int, *, head_dim: int = 8, is_tied: bool = True
) -> Qwen2ForCausalLM:
    """Save a random two-layer Qwen2, and its tokenizer, into the folder; vLLM needs a `head_dim` of
    at least 32."""
    tokenizer = make_tokenizer(directory)
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=PADDED_VOCABULARY,
            hidden_size=4 * head_dim,
            intermediate_size=8 * head_dim,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT_TOKENS,
            tie_word_embeddings=is_tied,
            initializer_range=0.1,  # the usual 0.02 samples almost uniformly at this width
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.save_pretrained(directory)
    return model
