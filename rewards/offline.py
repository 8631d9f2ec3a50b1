"""Grades a stream of responses without a cluster, by the graders and processes of training."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial

from rewards.config import RewardConfig
from rewards.killable_pool import KillablePool
from rewards.requests import with_options
from rewards.self_test import SelfTest, run_self_tests, self_test
from rewards.types import Outcome, ScoreRequest

_WINDOW = 1024
"""Requests that may wait behind a slow one."""


def self_tests(rewards: Iterable[str], config: RewardConfig) -> dict[str, SelfTest]:
    """Grade the known items of each reward in processes of their own, and say how each did."""
    with closing(KillablePool.from_config(config)) as pool:
        return {name: self_test(name, partial(_score, pool)) for name in sorted(set(rewards))}


def _score(pool: KillablePool, requests: Sequence[ScoreRequest]) -> list[Outcome]:
    futures = [pool.submit(each) for each in requests]
    return [future.result() for future in futures]


def score_stream(
    requests: Iterable[ScoreRequest], rewards: Iterable[str], config: RewardConfig
) -> Iterator[Outcome]:
    """Test the rewards on their known items, then yield an outcome for each request, in order.

    `config.processes_per_worker` processes grade. Raises SelfTestFailed.
    """
    with closing(KillablePool.from_config(config)) as pool:
        run_self_tests(rewards, partial(_score, pool))
        pending: deque[Future[Outcome]] = deque()
        for request in requests:
            if len(pending) >= _WINDOW:
                yield pending.popleft().result()
            pending.append(pool.submit(with_options(request, config)))
        while pending:
            yield pending.popleft().result()
