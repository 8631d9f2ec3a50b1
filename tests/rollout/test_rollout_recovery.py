"""After a fault the pool samples what it would have sampled, from the current weights."""

import os
import signal
import time
from pathlib import Path

import fakes
import pytest
from fake_engines import Script
from transformers import AutoModelForCausalLM

from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import EngineSetup, GenerationRequest, SamplingParams
from mgpo.rollout.pool import RolloutPool
from mgpo.weight_sync.shared_memory import write_weights
from mgpo.weight_sync.transport import PublishedFiles
from mgpo.weight_sync.types import WeightManifest

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {
    "num_cpus": 0,
    "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}},
}


def make_requests(count, max_completion_tokens=4):
    sampling = SamplingParams(
        temperature=1.0,
        top_p=1.0,
        top_k=-1,
        min_p=0.0,
        max_completion_tokens=max_completion_tokens,
    )
    return [
        GenerationRequest(
            prompt_id=f"p{index}",
            prompt_token_ids=(5, 6, 7 + index),
            seeds=(10 * index, 10 * index + 1),
            sampling=sampling,
        )
        for index in range(count)
    ]


@pytest.fixture
def make_pool():
    pools = []

    def make(engine_path, setup, **config):
        config = RolloutConfig(**{"timeout_s": 240.0, **config})
        pools.append(
            RolloutPool(
                config,
                engine_path,
                setup,
                num_threads=1,
                options=[OPTIONS] * config.num_workers,
            )
        )
        pools[-1].wait_until_loaded()
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.mark.slow
def test_an_engine_ended_by_an_early_stop_comes_back_with_the_pushed_weights(make_pool, tmp_path):
    script = Script(str(tmp_path), fault="freeze", faulty_prompt="p1")
    pool = make_pool("faulty_engines:NamingEngine", script)
    pool.take_weights(PublishedFiles(WeightManifest(policy_version=5, buckets=()), 240))
    stream = pool.generate(make_requests(4))
    next(stream)
    stream.close()
    groups = dict(pool.generate(make_requests(4)))
    assert sorted(groups) == [0, 1, 2, 3]
    assert {done.policy_version for completions in groups.values() for done in completions} == {5}


def test_an_abort_that_comes_too_late_does_not_hit_the_next_call(make_pool, tmp_path):
    pool = make_pool("faulty_engines:NamingEngine", Script(str(tmp_path)))
    stream = pool.generate(make_requests(4))
    next(stream)
    time.sleep(1.0)  # the engine has finished by now
    stream.close()
    pool.metrics()
    names = [
        {done.text for done in completions} for _, completions in pool.generate(make_requests(4))
    ]
    assert len(set.union(*names)) == 2  # two dispatches of two requests, none done again
    assert pool.metrics()["rollout/aborted_dispatches"] == 0


def test_several_refusals_are_one_error_and_leave_a_clean_pool(make_pool, tmp_path):
    pool = make_pool("faulty_engines:RefusingEngine", Script(str(tmp_path)), num_workers=2)
    with pytest.raises(ValueError, match="prompt is too long") as refusal:
        list(pool.generate(make_requests(8)))
    assert refusal.value.__context__ is None or "too long" not in str(refusal.value.__context__)
    assert pool.metrics()["rollout/restarts"] == 0


def test_a_replacement_that_dies_while_it_starts_is_replaced_again(make_pool, tmp_path):
    pool = make_pool("faulty_engines:BadStartEngine", Script(str(tmp_path)), max_restarts=2)
    assert sorted(index for index, _ in pool.generate(make_requests(4))) == [0, 1, 2, 3]
    assert pool.metrics()["rollout/restarts"] == 2


def test_every_engine_reports_its_memory(make_pool, tmp_path):
    pool = make_pool("faulty_engines:NamingEngine", Script(str(tmp_path)), num_workers=2)
    metrics = pool.metrics()
    assert 10 < metrics["rollout/rss_mib_0"] < 100_000
    assert 10 < metrics["rollout/rss_mib_1"] < 100_000


@pytest.mark.slow
def test_what_is_sampled_survives_a_killed_engine_and_another_number_of_engines(
    make_pool, tmp_path
):
    fakes.make_model(tmp_path, seed=1)
    fakes.make_model(tmp_path / "pushed", seed=2)
    pushed = AutoModelForCausalLM.from_pretrained(tmp_path / "pushed")
    manifest = PublishedFiles(write_weights(pushed.named_parameters(), 3, tmp_path, 20_000), 240)
    config = {"max_batch_samples": 4, "max_restarts": 1}
    setup = EngineSetup(
        model_path=str(tmp_path),
        dtype="float32",
        device="cpu",
        config=RolloutConfig(**config),
        vocab_size=259,
        stop_token_ids=(258,),
    )
    requests = make_requests(10, max_completion_tokens=20)
    undisturbed = make_pool("mgpo.rollout.hf_engine:HfEngine", setup, **config)
    undisturbed.take_weights(manifest)
    expected = dict(undisturbed.generate(requests))
    assert {done.policy_version for done in expected[0]} == {3}

    pool = make_pool("faulty_hf_engines:SlowHfEngine", setup, num_workers=2, **config)
    pool.take_weights(manifest)
    victim = pool.worker_pids()[0]
    stream = pool.generate(requests)
    got = dict([next(stream)])
    os.kill(victim, signal.SIGKILL)
    for index, completions in stream:
        assert index not in got
        got[index] = completions
    assert got == expected
    assert pool.metrics()["rollout/restarts"] == 1
