"""Requests to an engine, and what a plain forward pass says of its completions."""

from collections.abc import Sequence
from typing import Any

import torch

from mgpo.learner.rows import TrainingRow
from mgpo.rollout.engine import GenerationRequest, SamplingParams
from mgpo.types import Completion

VOCAB_SIZE = 259
STOP = 258
FULL = SamplingParams(temperature=1.0, top_p=1.0, top_k=-1, min_p=0.0, max_completion_tokens=24)
CANARY = GenerationRequest(
    prompt_id="canary",
    prompt_token_ids=(5, 6, 7, 8),
    seeds=(1,),
    sampling=SamplingParams(
        temperature=0.7, top_p=1.0, top_k=-1, min_p=0.0, max_completion_tokens=8
    ),
)
ROW = TrainingRow(
    token_ids=tuple(range(40)), prompt_len=10, rollout_logprobs=(-5.0,) * 30, advantage=1.0
)


def make_requests(
    sampling: SamplingParams = FULL, num_samples: int = 6, first_seed: int = 0
) -> list[GenerationRequest]:
    """Three prompts of different lengths."""
    return [
        GenerationRequest(
            prompt_id=f"p{index}",
            prompt_token_ids=tuple(range(5, 5 + length)),
            seeds=tuple(first_seed + 1000 * index + sample for sample in range(num_samples)),
            sampling=sampling,
        )
        for index, length in enumerate((3, 17, 9))
    ]


async def collect(
    engine: Any, requests: Sequence[GenerationRequest], name: str = "d"
) -> dict[int, tuple[Completion, ...]]:
    """Let an engine answer requests in one dispatch."""
    return {index: done async for index, done in engine.generate(name, requests)}


def reference_logprobs(
    model: torch.nn.Module, request: GenerationRequest, completion: Completion
) -> torch.Tensor:
    """Log-probs by one plain forward pass without cache or padding."""
    ids = torch.tensor([request.prompt_token_ids + completion.token_ids])
    with torch.no_grad():
        logits = model(ids).logits[0, :, :VOCAB_SIZE].float() / request.sampling.temperature
    start = len(request.prompt_token_ids) - 1
    targets = torch.tensor(completion.token_ids)
    return logits[start:-1].log_softmax(-1)[range(len(targets)), targets]
