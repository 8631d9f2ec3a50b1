"""The sandbox on Ray: actors with back-pressure, which may die."""

import os
import signal
import threading
import time

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]


def _submissions(count, seconds):
    from sandbox.types import Submission, Test

    code = f"import time; time.sleep({seconds}); print(input())"
    return [
        Submission(id=str(n), code=code, tests=[Test(input=str(n), output=str(n))])
        for n in range(count)
    ]


@pytest.fixture
def pool():
    from sandbox.config import SandboxConfig
    from sandbox.ray_pool import RaySandboxPool

    pool = RaySandboxPool(SandboxConfig(num_workers=1), num_actors=2, actor_options={"num_cpus": 0})
    yield pool
    pool.close()


def test_judgements_come_in_order_though_an_actor_dies(pool):
    killer = threading.Timer(1.0, os.kill, (pool.worker_pids()[0], signal.SIGKILL))
    killer.start()
    judged = pool.judge(_submissions(40, 0.1))
    killer.join()
    assert [(j.id, j.verdict) for j in judged] == [(str(n), "AC") for n in range(40)]
    assert pool.num_replaced == 1


def test_no_more_is_taken_from_a_stream_than_is_in_flight(pool):
    taken = 0

    def stream():
        nonlocal taken
        for submission in _submissions(30, 0.01):
            taken += 1
            yield submission

    answers = pool.judge_each(stream())
    next(answers)
    time.sleep(0.5)
    assert taken <= 9  # four a worker, and the one that waits
    assert [j.verdict for j in answers] == ["AC"] * 29
