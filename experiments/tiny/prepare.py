"""Makes the model, tokenizer and problem files of the tiny experiment, a pure function of a seed.

python experiments/tiny/prepare.py --output runs/tiny
"""

import argparse
from pathlib import Path

import torch
from arithmetic import write_problems
from tokenizers import pre_tokenizers
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
BOX = r"\boxed"
# ChatML with the first letter of the role and no newlines: five tokens around a user message.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'][0] + message['content'] + '<|im_end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>a' }}{% endif %}"
)
CONTEXT_TOKENS = 512
PADDED_VOCABULARY = 320
"""Rows of the embedding: more than the tokenizer has ids, as in the large models."""


def main() -> None:
    """Writes `model/`, `sft.jsonl`, `train.jsonl` and `heldout.jsonl` below --output."""
    args = _parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(args.output / "model")
    make_model(tokenizer, args.seed).save_pretrained(args.output / "model")
    counts = {"heldout": args.num_heldout, "train": args.num_train, "sft": args.num_sft}
    write_problems(args.output, args.seed, counts)


def make_tokenizer() -> Qwen2Tokenizer:
    """One id per byte, one for `\\boxed`, and three special tokens.

    The class is Qwen2's own, because AutoTokenizer gives it to every Qwen2 model, whatever class
    the files name.
    """
    vocabulary = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(BOX[:end], BOX[end]) for end in range(1, len(BOX))]
    vocabulary += [left + right for left, right in merges]
    return Qwen2Tokenizer(
        vocab={token: id_ for id_, token in enumerate(vocabulary)},
        merges=merges,
        unk_token=None,  # every byte has an id
        pad_token=PAD,
        eos_token=END,
        extra_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT_TOKENS,
    )


def make_model(tokenizer: Qwen2Tokenizer, seed: int) -> Qwen2ForCausalLM:
    """A Qwen2 of 0.8 million random parameters with a tied head."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=PADDED_VOCABULARY,
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT_TOKENS,
            tie_word_embeddings=True,
            initializer_range=0.06,  # 0.02, made for widths of thousands, learns half as fast here
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the problems")
    parser.add_argument("--num-sft", type=int, default=24000, help="rows with a worked solution")
    parser.add_argument("--num-train", type=int, default=4096, help="prompts for RL")
    parser.add_argument("--num-heldout", type=int, default=400, help="prompts for evaluation")
    return parser.parse_args()


if __name__ == "__main__":
    main()
