"""What every engine does to a request before it generates, and to its tokens afterwards."""

from collections.abc import Sequence
from typing import Any

from mgpo.rollout.engine import GenerationRequest


def check_fits(request: GenerationRequest, max_model_len: int) -> None:
    """Raise ValueError if the context cannot hold a prompt and a full completion."""
    needed = len(request.prompt_token_ids) + request.sampling.max_completion_tokens
    if needed > max_model_len:
        raise ValueError(
            f"prompt {request.prompt_id}: {len(request.prompt_token_ids)} tokens and "
            f"{request.sampling.max_completion_tokens} to generate exceed the context of "
            f"{max_model_len}; lower rollout.max_completion_tokens, or drop the prompt "
            "with data.max_prompt_tokens"
        )


def decode_texts(tokenizer: Any, token_ids: Sequence[Sequence[int]]) -> list[str]:
    """Return the texts of completions, without special tokens and otherwise untouched."""
    texts: list[str] = tokenizer.batch_decode(
        token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return texts
