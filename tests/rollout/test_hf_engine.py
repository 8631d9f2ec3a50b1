"""The hf engine: tokens in and out, the right distribution, the right log-probs."""

import asyncio
import json
import math
from dataclasses import replace

import fakes
import pytest
import torch
from engine_checks import FULL, STOP, VOCAB_SIZE, collect, make_requests, reference_logprobs
from transformers import AutoModelForCausalLM

from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import EngineSetup
from mgpo.rollout.hf_engine import HfEngine
from mgpo.rollout.sampling_math import sample_tokens, uniforms
from mgpo.weight_sync.shared_memory import write_weights


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=1)
    return path


def make_engine(path, **config) -> HfEngine:
    engine = HfEngine(
        EngineSetup(
            model_path=str(path),
            dtype="float32",
            device="cpu",
            config=RolloutConfig(**config),
            vocab_size=VOCAB_SIZE,
            stop_token_ids={STOP},
        )
    )
    asyncio.run(engine.start())
    return engine


@pytest.fixture(scope="module")
def engine(model_path) -> HfEngine:
    return make_engine(model_path)


def generate(engine, requests):
    return asyncio.run(collect(engine, requests))


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_equal_a_plain_forward_pass(model_path, engine, temperature):
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    requests = make_requests(replace(FULL, temperature=temperature))
    for index, completions in generate(engine, requests).items():
        for done in completions:
            expected = reference_logprobs(model, requests[index], done)
            got = torch.tensor(done.rollout_logprobs)
            assert float((got - expected).abs().max()) < 1e-4


def test_same_seeds_give_the_same_completions(engine):
    assert generate(engine, make_requests()) == generate(engine, make_requests())


def test_samples_of_a_group_differ(engine):
    for completions in generate(engine, make_requests()).values():
        assert len({done.token_ids for done in completions}) == len(completions)


def test_a_stop_token_ends_a_completion_and_belongs_to_it(engine):
    requests = make_requests(replace(FULL, max_completion_tokens=400), num_samples=24)
    reasons = set()
    for completions in generate(engine, requests).values():
        for done in completions:
            reasons.add(done.finish_reason)
            assert (done.token_ids[-1] == STOP) == (done.finish_reason == "stop")
            assert STOP not in done.token_ids[:-1]
            assert done.finish_reason == "stop" or len(done.token_ids) == 400
    assert reasons == {"stop", "length"}


def test_ids_beyond_the_tokenizer_are_never_sampled(model_path, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    with torch.no_grad():
        # The padded rows would win every draw if they were not masked.
        model.get_output_embeddings().weight[VOCAB_SIZE:] = 50 * model.model.norm.weight
    model.save_pretrained(tmp_path)
    fakes.make_tokenizer(tmp_path)
    for completions in generate(make_engine(tmp_path), make_requests()).values():
        assert all(max(done.token_ids) < VOCAB_SIZE for done in completions)


def test_generation_config_of_the_folder_changes_nothing(model_path, engine, tmp_path):
    AutoModelForCausalLM.from_pretrained(model_path).save_pretrained(tmp_path)
    fakes.make_tokenizer(tmp_path)
    settings = {"repetition_penalty": 5.0, "top_k": 1, "do_sample": False, "max_length": 4}
    (tmp_path / "generation_config.json").write_text(json.dumps(settings))
    expected = generate(engine, make_requests())
    assert generate(make_engine(tmp_path), make_requests()) == expected


def test_a_prompt_beyond_the_context_is_refused_with_its_id(model_path):
    engine = make_engine(model_path, max_model_len=30)
    with pytest.raises(ValueError, match=r"prompt p1: 17 tokens.*max_completion_tokens"):
        generate(engine, make_requests())


def test_an_aborted_dispatch_comes_back_as_aborted(model_path, engine):
    async def abort_at_once():
        stream = engine.generate("late", make_requests(replace(FULL, max_completion_tokens=450)))
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        await engine.abort("late")
        groups = [await first] + [item async for item in stream]
        return [done.finish_reason for _, completions in groups for done in completions]

    assert "abort" in asyncio.run(abort_at_once())


def test_draws_follow_the_distribution():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    count = 40_000
    draws = uniforms(torch.arange(count) * 7919, position=3)
    ids, logprobs = sample_tokens(logits.expand(count, -1), draws, replace(FULL, temperature=0.8))
    expected = (logits / 0.8).softmax(-1)
    counts = torch.bincount(ids, minlength=4)
    chi_square = float(((counts - count * expected) ** 2 / (count * expected)).sum())
    assert chi_square < 16.3  # p = 0.001 at 3 degrees of freedom
    assert torch.allclose(logprobs, expected.log()[ids], atol=1e-6)


def test_draws_of_neighbouring_seeds_and_positions_are_unrelated():
    grid = torch.stack([uniforms(torch.arange(2000), position) for position in range(50)])
    assert abs(float(grid.mean()) - 0.5) < 0.005
    for shifted in (grid[1:] * grid[:-1], grid[:, 1:] * grid[:, :-1]):
        assert abs(float(shifted.mean()) - 0.25) < 0.005
    assert 0.0 <= float(grid.min()) < float(grid.max()) < 1.0


@pytest.mark.parametrize(
    ("sampling", "allowed"),
    [
        (replace(FULL, top_k=2), {0, 1}),
        (replace(FULL, top_p=0.6), {0, 1}),
        (replace(FULL, top_p=0.4), {0}),
        (replace(FULL, min_p=0.3), {0, 1}),
    ],
)
def test_truncated_sampling_reports_the_renormalised_logprob(sampling, allowed):
    probs = torch.tensor([0.5, 0.25, 0.125, 0.125])
    draws = uniforms(torch.arange(500), position=0)
    ids, logprobs = sample_tokens(probs.log().expand(500, -1), draws, sampling)
    assert set(ids.tolist()) == allowed
    kept = sum(float(probs[index]) for index in allowed)
    for index, logprob in zip(ids.tolist(), logprobs.tolist(), strict=True):
        assert math.isclose(logprob, math.log(float(probs[index]) / kept), abs_tol=1e-5)


def test_new_weights_change_the_logprobs_and_the_version(model_path, tmp_path):
    engine = make_engine(model_path)
    fakes.make_model(tmp_path, seed=9)
    other = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    folder = tmp_path / "push"
    folder.mkdir()
    manifest = write_weights(other.named_parameters(), 7, folder, 20_000)
    report = asyncio.run(engine.load_weights(manifest))
    assert len(manifest.buckets) > 1
    assert report.policy_version == 7
    assert report.digests == manifest.digests
    requests = make_requests()
    for index, completions in generate(engine, requests).items():
        for done in completions:
            assert done.policy_version == 7
            expected = reference_logprobs(other, requests[index], done)
            assert float((torch.tensor(done.rollout_logprobs) - expected).abs().max()) < 1e-4


def test_a_dropped_bucket_is_named(model_path, tmp_path):
    engine = make_engine(model_path)
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    manifest = write_weights(model.named_parameters(), 1, tmp_path, 20_000)
    dropped = manifest.buckets[1].tensors[0].name
    partial = replace(manifest, buckets=manifest.buckets[:1] + manifest.buckets[2:])
    with pytest.raises(ValueError, match=dropped.replace(".", r"\.")):
        asyncio.run(engine.load_weights(partial))
