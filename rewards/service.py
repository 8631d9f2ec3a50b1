"""The reward service: Ray actors that grade, behind calls that always come back.

A failure of a grader is an `error` outcome, counted and shown; too many of them stop the run.
"""

import asyncio
import logging
import os
import statistics
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from rewards.config import RewardConfig
from rewards.killable_pool import KILL_GRACE_S, KillablePool
from rewards.registry import resolve, self_test_items
from rewards.types import Outcome, ScoreRequest, error

logger = logging.getLogger(__name__)

_BATCH = 16
_SLOW_S = 1.0
_MAX_TRIES = 2
_SLACK_S = 150.0
"""Beyond the graders' own deadlines: starting a worker and importing a reward."""
_RESPAWN_S = 5.0
"""Allowed per grading for a new process, needed after each kill."""


class RewardErrorRate(RuntimeError):
    """Too many gradings failed: going on would train on a distorted batch."""


class SelfTestFailed(RuntimeError):
    """A reward gives wrong verdicts on its own known items."""


def check_reward_names(names: Iterable[str]) -> None:
    """Raise ValueError for a name that stands for no importable reward."""
    for name in names:
        resolve(name)


class RewardWorker:
    """Async actor around a pool of grading processes."""

    def __init__(self, config: RewardConfig) -> None:
        self._pool = KillablePool(
            config.processes_per_worker, config.timeout_s, config.correct_threshold
        )

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


@dataclass(frozen=True, slots=True)
class _Graded:
    """A request and what came of it."""

    request: ScoreRequest
    outcome: Outcome


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
        self._shown: set[tuple[str, str]] = set()
        """Kinds of failure that were logged; timeouts always are."""
        self._recent: deque[_Graded] = deque(maxlen=config.error_window)
        self._since_last: list[_Graded] = []
        self._num_workers_replaced = 0
        self._num_processes_replaced = 0
        self._num_open = 0

    def submit(self, requests: Sequence[ScoreRequest]) -> Ticket:
        """Start grading and return at once."""
        parts = []
        for first in range(0, len(requests), _BATCH):
            batch = requests[first : first + _BATCH]
            worker = self._next_worker = (self._next_worker + 1) % len(self._workers)
            parts.append(self._send(batch, worker))
        self._num_open += len(requests)
        return Ticket(parts)

    def collect(self, ticket: Ticket) -> list[Outcome]:
        """Wait for the outcomes, in the order of the requests.

        Raises RewardErrorRate when too many of the last outcomes are errors.
        """
        graded: list[_Graded] = []
        for part in ticket.parts:
            outcomes = self._answer(part)
            self._num_open -= len(outcomes)
            graded += map(_Graded, part.requests, outcomes)
        self._recent.extend(graded)
        self._since_last += graded
        self._log_failures(graded)
        self._check_error_rate()
        return [each.outcome for each in graded]

    def score(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade and wait."""
        return self.collect(self.submit(requests))

    def _send(self, batch: Sequence[ScoreRequest], worker: int) -> _Part:
        actor = self._workers[worker]
        return _Part(batch, worker, actor, actor.score.remote(batch))

    def _answer(self, part: _Part) -> list[Outcome]:
        """Wait for one batch; when its worker dies, another grades it once more."""
        deadline_s = self._deadline_s()
        for _ in range(_MAX_TRIES):
            try:
                outcomes, num_replaced = ray.get(part.answer, timeout=deadline_s)
            except ray.exceptions.GetTimeoutError:
                logger.error("rewards: a batch was not graded within %.0f s", deadline_s)
                self._replace(part)
                return [error("service_timeout", waited_s=deadline_s) for _ in part.requests]
            except ray.exceptions.RayActorError:
                self._replace(part)
                part = self._send(part.requests, part.worker)
            else:
                self._num_processes_replaced += num_replaced
                return outcomes  # type: ignore[no-any-return]
        return [error("worker_died") for _ in part.requests]

    def _deadline_s(self) -> float:
        """Return how long the open gradings may take at most."""
        lanes = len(self._workers) * self._config.processes_per_worker
        # Twice: a process that died by itself gives its request a second try.
        each_s = 2 * (self._config.timeout_s + KILL_GRACE_S + _RESPAWN_S)
        return _SLACK_S + each_s * (1 + self._num_open / lanes)

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

    def _log_failures(self, graded: Sequence[_Graded]) -> None:
        """Name every item that was killed, and the first failure of each other kind."""
        for each in graded:
            request, outcome = each.request, each.outcome
            kind = (request.reward, outcome.reason)
            if outcome.is_valid or kind in self._shown:
                continue
            if outcome.reason != "timeout":
                self._shown.add(kind)
            logger.warning(
                "reward %s failed on %s (%s, %.1f s): %s; its sample leaves the group",
                request.reward,
                request.item_id or "an item",
                outcome.reason,
                outcome.time_s,
                outcome.detail.get("exception") or dict(outcome.detail),
            )

    def _check_error_rate(self) -> None:
        failed = [each for each in self._recent if not each.outcome.is_valid]
        rate = len(failed) / max(1, len(self._recent))
        is_enough = len(self._recent) * 4 >= self._config.error_window
        if not is_enough or rate <= self._config.max_error_rate:
            return
        reasons = ", ".join(f"{reason} x{n}" for reason, n in _reasons(failed).most_common(3))
        last = failed[-1]
        raise RewardErrorRate(
            f"{rate:.0%} of the last {len(self._recent)} gradings failed "
            f"(reward.max_error_rate is {self._config.max_error_rate:.0%}): {reasons}; "
            f"the last one: {last.request.item_id or 'an item'} by reward {last.request.reward}, "
            f"{last.outcome.reason}, {dict(last.outcome.detail)}"
        )

    def self_test(self, names: Iterable[str]) -> None:
        """Grade each reward's known items through the deployed path.

        Raises SelfTestFailed naming item, expected and got.
        """
        for name in sorted(set(names)):
            items = self_test_items(name)
            if not items:
                logger.warning("reward %s brings no self-test items: not tested", name)
                continue
            requests = [
                ScoreRequest(reward=name, response=response, reference=reference)
                for response, reference, _ in items
            ]
            for (response, reference, expected), outcome in zip(
                items, self.score(requests), strict=True
            ):
                if not outcome.is_valid or outcome.correct != expected:
                    raise SelfTestFailed(
                        f"reward {name} fails its self-test: response {response!r}, reference "
                        f"{reference!r}: expected {'correct' if expected else 'wrong'}, got "
                        f"{outcome.word} ({outcome.reason}, {dict(outcome.detail)})"
                    )
        self._since_last.clear()
        self._recent.clear()

    def metrics(self) -> dict[str, float]:
        """Return what happened since the last call."""
        graded, self._since_last = self._since_last, []
        failed = [each for each in graded if not each.outcome.is_valid]
        times = sorted(each.outcome.time_s for each in graded) or [0.0]
        metrics = {
            "reward/error_rate": len(failed) / max(1, len(graded)),
            "reward/timeouts": float(_reasons(failed)["timeout"]),
            "reward/processes_replaced": float(self._num_processes_replaced),
            "reward/workers_replaced": float(self._num_workers_replaced),
            "time/reward_p50_s": statistics.median(times),
            "time/reward_p99_s": times[min(len(times) - 1, int(0.99 * len(times)))],
        }
        self._num_processes_replaced = self._num_workers_replaced = 0
        if graded:
            slowest = max(graded, key=lambda each: each.outcome.time_s)
            logger.log(
                logging.INFO if slowest.outcome.time_s >= _SLOW_S else logging.DEBUG,
                "rewards: slowest of %d gradings: %s by reward %s, %.3f s",
                len(graded),
                slowest.request.item_id or "an item",
                slowest.request.reward,
                slowest.outcome.time_s,
            )
        return metrics

    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return list(ray.get([worker.pid.remote() for worker in self._workers], timeout=_SLACK_S))

    def close(self) -> None:
        """End the workers and their processes."""
        for worker in self._workers:
            ray.kill(worker)


def _reasons(graded: Iterable[_Graded]) -> Counter[str]:
    return Counter(each.outcome.reason for each in graded)
