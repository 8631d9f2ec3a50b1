"""Generation requests of training, evaluation and canaries: prompts, seeds and distributions."""

from collections import Counter
from collections.abc import Sequence

from mgpo.config.evaluation import EvalConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.data.sampler import sample_seed
from mgpo.rollout.engine import GenerationRequest, SamplingParams
from mgpo.types import Prompt


def training_requests(
    prompts: Sequence[Prompt], config: RolloutConfig, *, seed: int, step: int
) -> list[GenerationRequest]:
    """Ask for one group per prompt under the training distribution."""
    sampling = SamplingParams(
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        min_p=config.min_p,
        max_completion_tokens=config.max_completion_tokens,
    )
    return _requests(prompts, sampling, config.group_size, seed=seed, step=step, stream="train")


def eval_requests(
    prompts: Sequence[Prompt], config: EvalConfig, rollout: RolloutConfig, *, seed: int, step: int
) -> list[GenerationRequest]:
    """Ask for the samples of an evaluation; its seeds differ from those of training."""
    sampling = SamplingParams(
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        min_p=0.0,
        max_completion_tokens=rollout.max_completion_tokens,
    )
    count = config.samples_per_prompt
    return _requests(prompts, sampling, count, seed=seed, step=step, stream="eval")


def stored_request(
    prompt: Prompt, sample_index: int, config: SamplingConfig, *, seed: int, context: int
) -> GenerationRequest:
    """Ask for one sample of a prompt; its seed is its own, whatever else is asked for.

    `context` is the longest sequence in tokens, which bounds the completion.
    """
    left = context - len(prompt.token_ids)
    sampling = SamplingParams(
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        min_p=0.0,
        max_completion_tokens=min(left, config.max_completion_tokens or left),
    )
    return GenerationRequest(
        prompt_id=prompt.id,
        prompt_token_ids=prompt.token_ids,
        seeds=(stored_seed(prompt.id, sample_index, seed=seed),),
        sampling=sampling,
    )


def stored_seed(prompt_id: str, sample_index: int, *, seed: int) -> int:
    """Return the seed of one sample of a stage that learns nothing."""
    return sample_seed(seed, 0, prompt_id, sample_index, stream="stored")


def canary_requests(
    prompts: Sequence[Prompt], config: WeightSyncConfig, rollout: RolloutConfig
) -> list[GenerationRequest]:
    """Ask for the few tokens that prove a push of weights; the same ones after each push."""
    sampling = SamplingParams(
        temperature=rollout.temperature,
        top_p=1.0,
        top_k=-1,
        min_p=0.0,
        max_completion_tokens=config.canary_tokens,
    )
    chosen = prompts[: config.num_canaries]
    return _requests(chosen, sampling, 1, seed=0, step=0, stream="canary")


def _requests(
    prompts: Sequence[Prompt],
    sampling: SamplingParams,
    num_samples: int,
    *,
    seed: int,
    step: int,
    stream: str,
) -> list[GenerationRequest]:
    requests = []
    times_seen: Counter[str] = Counter()
    for prompt in prompts:
        # A prompt that comes twice in a step must not be answered twice alike.
        first = times_seen[prompt.id] * num_samples
        times_seen[prompt.id] += 1
        seeds = tuple(
            sample_seed(seed, step, prompt.id, index, stream=stream)
            for index in range(first, first + num_samples)
        )
        requests.append(
            GenerationRequest(
                prompt_id=prompt.id,
                prompt_token_ids=prompt.token_ids,
                seeds=seeds,
                sampling=sampling,
            )
        )
    return requests
