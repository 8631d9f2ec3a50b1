"""The reward service: Ray actors that grade, behind calls that always come back.

A failure of a grader is an `error` outcome, counted and shown; too many of them stop the run.
"""

import asyncio
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from rewards.config import RewardConfig
from rewards.killable_pool import KILL_GRACE_S, KillablePool
from rewards.record import Graded, GradingRecord
from rewards.requests import longest_s, with_options
from rewards.self_test import run_self_tests
from rewards.types import Outcome, ScoreRequest, error

logger = logging.getLogger(__name__)

_BATCH = 16
_MAX_TRIES = 4
_SLACK_S = 150.0
"""Beyond the graders' own deadlines: starting a worker and importing a reward."""
_RESPAWN_S = 5.0
"""Allowed per grading for a new process, needed after each kill."""


class RewardWorker:
    """Async actor around a pool of grading processes."""

    def __init__(self, config: RewardConfig) -> None:
        self._pool = KillablePool.from_config(config)

    async def score(self, requests: Sequence[ScoreRequest]) -> tuple[list[Outcome], int]:
        """Grade a batch, in order; also return how many processes were replaced since the last."""
        futures = [asyncio.wrap_future(self._pool.submit(request)) for request in requests]
        outcomes = await asyncio.gather(*futures)
        return outcomes, self._pool.take_restarts()

    async def pid(self) -> int:
        """Process id, for logs and tests."""
        return os.getpid()


@dataclass(slots=True)
class _Part:
    """A batch on its way, and the worker that has it."""

    requests: Sequence[ScoreRequest]
    worker: int
    actor: Any
    """The actor that has it; the worker may have been given a new one since."""
    answer: Any


@dataclass(slots=True)
class Ticket:
    """What `submit` gives and `collect` takes."""

    parts: list[_Part]


class RewardService:
    """Spreads gradings over the workers and watches their error rate."""

    def __init__(self, config: RewardConfig) -> None:
        self._config = config
        self._workers = [self._new_worker() for _ in range(config.num_workers)]
        self._next_worker = 0
        self._record = GradingRecord(config)
        self._tested: Sequence[str] = ()
        self._num_since_audit = 0
        self._num_workers_replaced = 0
        self._num_processes_replaced = 0
        self._num_open = self._most_open = 0
        self._open_s = 0.0
        """What the open gradings may take at most, one after the other."""

    def submit(self, requests: Sequence[ScoreRequest]) -> Ticket:
        """Start grading and return at once."""
        ticket = self._submit([with_options(each, self._config) for each in requests])
        self._most_open = max(self._most_open, self._num_open)
        return ticket

    def _submit(self, requests: Sequence[ScoreRequest]) -> Ticket:
        parts = []
        for first in range(0, len(requests), _BATCH):
            batch = requests[first : first + _BATCH]
            worker = self._next_worker = (self._next_worker + 1) % len(self._workers)
            parts.append(self._send(batch, worker))
        self._num_open += len(requests)
        self._open_s += self._longest_s(requests)
        return Ticket(parts)

    def is_finished(self, ticket: Ticket) -> bool:
        """Whether `collect` would answer at once."""
        answers = [part.answer for part in ticket.parts]
        ready, _ = ray.wait(answers, num_returns=len(answers), timeout=0) if answers else ([], [])
        return len(ready) == len(answers)

    def collect(self, ticket: Ticket) -> list[Outcome]:
        """Wait for the outcomes, in the order of the requests.

        Raises RewardErrorRate when too many of the last outcomes are errors, SelfTestFailed when an
        audit is due and finds a wrong verdict.
        """
        graded = self._wait(ticket)
        self._record.add(graded)
        self._audit_when_due(len(graded))
        return [each.outcome for each in graded]

    def _wait(self, ticket: Ticket) -> list[Graded]:
        graded: list[Graded] = []
        for part in ticket.parts:
            outcomes = self._answer(part)
            self._num_open -= len(outcomes)
            self._open_s -= self._longest_s(part.requests)
            graded += map(Graded, part.requests, outcomes)
        return graded

    def score(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade and wait."""
        return self.collect(self.submit(requests))

    def score_aside(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade and wait, beside the record: failures neither stop the run nor count in metrics."""
        ready = [with_options(each, self._config) for each in requests]
        return [each.outcome for each in self._wait(self._submit(ready))]

    def _send(self, batch: Sequence[ScoreRequest], worker: int) -> _Part:
        actor = self._workers[worker]
        return _Part(batch, worker, actor, actor.score.remote(batch))

    def _answer(self, part: _Part) -> list[Outcome]:
        """Wait for one batch; when its worker dies, another grades it."""
        deadline_s = self._deadline_s(part)
        for _ in range(_MAX_TRIES):
            try:
                outcomes, num_replaced = ray.get(part.answer, timeout=deadline_s)
            except ray.exceptions.GetTimeoutError:
                logger.error("rewards: a batch was not graded within %.0f s", deadline_s)
                self._replace(part)
                return [error("service_timeout", waited_s=deadline_s) for _ in part.requests]
            except ray.exceptions.RayTaskError as problem:
                logger.error("rewards: a worker failed on a batch: %s", problem)
                return [error("worker_failed", problem=str(problem.cause)) for _ in part.requests]
            except ray.exceptions.RayActorError:
                self._replace(part)
                part = self._send(part.requests, part.worker)
            else:
                self._num_processes_replaced += num_replaced
                return outcomes  # type: ignore[no-any-return]
        return [error("worker_died") for _ in part.requests]

    def _longest_s(self, requests: Sequence[ScoreRequest]) -> float:
        # Twice: a process that died by itself gives its request a second try.
        own_s = KILL_GRACE_S + _RESPAWN_S
        return sum(2 * (longest_s(each, self._config) + own_s) for each in requests)

    def _deadline_s(self, part: _Part) -> float:
        """Return how long a batch may take at most, behind all that is open."""
        lanes = len(self._workers) * self._config.processes_per_worker
        return _SLACK_S + self._longest_s(part.requests) + self._open_s / lanes

    def _replace(self, part: _Part) -> None:
        """Start a new actor for the part's worker, unless another part did already."""
        if self._workers[part.worker] is not part.actor:
            return
        logger.error("rewards: worker %d died or hangs: replacing it", part.worker)
        ray.kill(part.actor)
        self._workers[part.worker] = self._new_worker()
        self._num_workers_replaced += 1

    def _new_worker(self) -> Any:
        return ray.remote(RewardWorker).options(num_cpus=0).remote(self._config)

    def self_test(self, names: Iterable[str]) -> None:
        """Grade each reward's known items through the workers, now and every
        `config.audit_every` gradings.

        Raises SelfTestFailed.
        """
        self._tested = sorted(set(names))
        run_self_tests(self._tested, self._score_known)

    def _score_known(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        # Known items are those of the reward without options.
        return [each.outcome for each in self._wait(self._submit(requests))]

    def _audit_when_due(self, num_graded: int) -> None:
        self._num_since_audit += num_graded
        if self._config.audit_every and self._num_since_audit >= self._config.audit_every:
            self._num_since_audit = 0
            run_self_tests(self._tested, self._score_known)

    def metrics(self) -> dict[str, float]:
        """Return what happened since the last call."""
        metrics = self._record.metrics() | {
            "reward/queue_depth_max": float(self._most_open),
            "reward/processes_replaced": float(self._num_processes_replaced),
            "reward/workers_replaced": float(self._num_workers_replaced),
        }
        self._num_processes_replaced = self._num_workers_replaced = 0
        self._most_open = self._num_open
        return metrics

    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return list(ray.get([worker.pid.remote() for worker in self._workers], timeout=_SLACK_S))

    def close(self) -> None:
        """End the workers and their processes."""
        for worker in self._workers:
            ray.kill(worker)
