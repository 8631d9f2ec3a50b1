"""The pool hands out every group once, whatever an engine does."""

import os
import signal
import threading
import time

import pytest
from fake_engines import Script

from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import GenerationRequest, SamplingParams

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

SAMPLING = SamplingParams(temperature=1.0, top_p=1.0, top_k=-1, min_p=0.0, max_completion_tokens=4)


def make_requests(count):
    return [
        GenerationRequest(
            prompt_id=f"p{index}",
            prompt_token_ids=(1, 2),
            seeds=(10 * index, 10 * index + 1),
            sampling=SAMPLING,
        )
        for index in range(count)
    ]


@pytest.fixture
def make_pool(tmp_path):
    from mgpo.rollout.pool import RolloutPool

    pools = []

    def make(num_workers=2, timeout_s=60.0, max_restarts=2, **engine):
        pool = RolloutPool(
            RolloutConfig(num_workers=num_workers, timeout_s=timeout_s, max_restarts=max_restarts),
            "fake_engines:ScriptedEngine",
            Script(str(tmp_path), **engine),
            num_threads=1,
            options=[
                {
                    "num_cpus": 0,
                    "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join([".", "tests"])}},
                }
            ]
            * num_workers,
        )
        pools.append(pool)
        pool.wait_until_loaded()
        return pool

    yield make
    for pool in pools:
        pool.close()


def tokens(finished):
    result = {}
    for index, completions in finished:
        assert index not in result
        result[index] = [done.token_ids for done in completions]
    return result


def expected_tokens(count):
    return {index: [(10 * index,), (10 * index + 1,)] for index in range(count)}


def test_every_group_comes_once_with_its_own_seeds(make_pool):
    assert tokens(make_pool().generate(make_requests(7))) == expected_tokens(7)


def test_the_first_group_comes_before_the_last_is_done(make_pool):
    pool = make_pool(num_workers=1, delay_s=0.3)
    started = time.monotonic()
    stream = pool.generate(make_requests(8))
    next(stream)
    first = time.monotonic() - started
    assert len(list(stream)) == 7
    assert first < 0.5 * (time.monotonic() - started)


@pytest.mark.parametrize("fault", ["die", "raise"])
def test_a_lost_engine_costs_nothing_but_time(make_pool, fault):
    pool = make_pool(fault=fault, faulty_prompt="p3")
    assert tokens(pool.generate(make_requests(7))) == expected_tokens(7)
    metrics = pool.metrics()
    assert metrics["rollout/restarts"] == 1
    assert metrics["rollout/dropped_groups"] == 0


def test_an_actor_killed_from_outside_is_replaced(make_pool):
    pool = make_pool(delay_s=0.5)
    victim = pool.worker_pids()[0]
    threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    assert tokens(pool.generate(make_requests(12))) == expected_tokens(12)
    assert victim not in pool.worker_pids()


def test_a_hanging_dispatch_is_aborted_and_done_again(make_pool):
    pool = make_pool(fault="hang", faulty_prompt="p3", timeout_s=3.0)
    assert tokens(pool.generate(make_requests(7))) == expected_tokens(7)
    assert pool.metrics()["rollout/restarts"] == 0


@pytest.mark.slow
def test_a_frozen_engine_is_replaced(make_pool):
    pool = make_pool(fault="freeze", faulty_prompt="p3", timeout_s=5.0)
    assert tokens(pool.generate(make_requests(7))) == expected_tokens(7)
    assert pool.metrics()["rollout/restarts"] == 1


def test_a_group_that_hangs_twice_is_dropped_and_counted(make_pool):
    pool = make_pool(fault="hang-always", faulty_prompt="p3", timeout_s=2.0)
    got = tokens(pool.generate(make_requests(7)))
    expected = expected_tokens(7)
    del expected[3]
    assert got == expected
    assert pool.metrics()["rollout/dropped_groups"] == 1


def test_engines_that_keep_dying_stop_the_run(make_pool):
    pool = make_pool(fault="die-always", faulty_prompt="p3", max_restarts=1)
    with pytest.raises(RuntimeError, match=r"rollout\.max_restarts \(1\)"):
        list(pool.generate(make_requests(7)))


def test_a_refused_request_reaches_the_caller(make_pool):
    pool = make_pool(fault="refuse", faulty_prompt="p3")
    with pytest.raises(ValueError, match="prompt is too long"):
        list(pool.generate(make_requests(7)))


def test_a_caller_that_stops_early_leaves_a_clean_pool(make_pool):
    pool = make_pool(delay_s=0.2)
    stream = pool.generate(make_requests(12))
    next(stream)
    stream.close()
    assert tokens(pool.generate(make_requests(7))) == expected_tokens(7)
