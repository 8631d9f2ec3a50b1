"""How the hf engine cuts a dispatch into batches, and what an abort reaches."""

import asyncio
from dataclasses import replace

import fakes
import pytest

from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.decoding import split_into_batches
from mgpo.rollout.engine import EngineSetup, GenerationRequest, SamplingParams
from mgpo.rollout.hf_engine import HfEngine

FULL = SamplingParams(temperature=1.0, top_p=1.0, top_k=-1, min_p=0.0, max_completion_tokens=6)
GREEDY = replace(FULL, top_k=1, max_completion_tokens=3)


def request(index, num_samples, sampling=FULL):
    return GenerationRequest(
        prompt_id=f"p{index}",
        prompt_token_ids=(5, 6, 7 + index),
        seeds=tuple(range(100 * index, 100 * index + num_samples)),
        sampling=sampling,
    )


@pytest.fixture(scope="module")
def make_engine(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=1)

    def make(max_batch_samples):
        engine = HfEngine(
            EngineSetup(
                model_path=str(path),
                dtype="float32",
                device="cpu",
                config=RolloutConfig(max_batch_samples=max_batch_samples),
                vocab_size=259,
                stop_token_ids={258},
            )
        )
        asyncio.run(engine.start())
        return engine

    return make


async def collect(engine, requests, name="d"):
    return {index: done async for index, done in engine.generate(name, requests)}


def test_batches_are_consecutive_and_hold_at_most_max_rows_of_one_distribution():
    requests = [request(0, 3), request(1, 3), request(2, 2, GREEDY), request(3, 9, GREEDY)]
    batches = [
        [(index, part.seeds) for index, part in batch] for batch in split_into_batches(requests, 6)
    ]
    assert batches == [
        [(0, (0, 1, 2)), (1, (100, 101, 102))],
        [(2, (200, 201))],
        [(3, (300, 301, 302, 303, 304, 305))],
        [(3, (306, 307, 308))],
    ]


def test_a_group_larger_than_a_batch_comes_whole_and_in_the_order_of_its_seeds(make_engine):
    requests = [request(0, 7), request(1, 7)]
    whole = asyncio.run(collect(make_engine(64), requests))
    cut = asyncio.run(collect(make_engine(4), requests))
    for index in whole:
        assert [done.token_ids for done in cut[index]] == [done.token_ids for done in whole[index]]


def test_each_request_is_sampled_from_its_own_distribution(make_engine):
    groups = asyncio.run(collect(make_engine(64), [request(0, 6), request(1, 6, GREEDY)]))
    assert len({done.token_ids for done in groups[0]}) > 1
    assert len({done.token_ids for done in groups[1]}) == 1
    assert all(len(done.token_ids) <= 3 for done in groups[1])


def test_an_abort_of_an_unknown_dispatch_is_ignored(make_engine):
    engine = make_engine(64)

    async def abort_first():
        await engine.abort("later")
        return await collect(engine, [request(0, 3)], "later")

    reasons = {done.finish_reason for done in asyncio.run(abort_first())[0]}
    assert "abort" not in reasons
