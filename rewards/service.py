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
from rewards.killable_pool import KillablePool
from rewards.registry import resolve, self_test_items
from rewards.types import Outcome, ScoreRequest, error

logger = logging.getLogger(__name__)

_BATCH = 16
_SLACK_S = 150.0
"""Beyond the graders' own deadlines: starting a process and importing a reward."""


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

    async def score(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade a batch, in order."""
        futures = [asyncio.wrap_future(self._pool.submit(request)) for request in requests]
        return await asyncio.gather(*futures)

    async def pid(self) -> int:
        """Process id, for logs and tests."""
        return os.getpid()


@dataclass(slots=True)
class _Part:
    """A batch on its way, and the worker that has it."""

    requests: Sequence[ScoreRequest]
    worker: int
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
        self._recent: deque[Outcome] = deque(maxlen=config.error_window)
        self._since_last: list[Outcome] = []
        self._num_replaced = 0
        self._num_open = 0

    def submit(self, requests: Sequence[ScoreRequest]) -> Ticket:
        """Start grading and return at once."""
        parts = []
        for first in range(0, len(requests), _BATCH):
            batch = requests[first : first + _BATCH]
            worker = self._next_worker = (self._next_worker + 1) % len(self._workers)
            parts.append(_Part(batch, worker, self._workers[worker].score.remote(batch)))
        self._num_open += len(requests)
        return Ticket(parts)

    def collect(self, ticket: Ticket) -> list[Outcome]:
        """Wait for the outcomes, in the order of the requests.

        Raises RewardErrorRate when too many of the last outcomes are errors.
        """
        outcomes: list[Outcome] = []
        for part in ticket.parts:
            outcomes += self._answer(part)
        self._num_open -= len(outcomes)
        self._recent.extend(outcomes)
        self._since_last += outcomes
        for outcome in outcomes:
            if outcome.reason == "timeout":
                logger.warning(
                    "the grading of %s was killed after %.1f s (reward.timeout_s)",
                    outcome.detail.get("item") or "an item",
                    outcome.time_s,
                )
        self._check_error_rate()
        return outcomes

    def score(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade and wait."""
        return self.collect(self.submit(requests))

    def _answer(self, part: _Part) -> list[Outcome]:
        """Wait for one batch; a dead worker is replaced and asked once more."""
        lanes = len(self._workers) * self._config.processes_per_worker
        # Twice: a process that died by itself gives its request a second try.
        deadline = _SLACK_S + 2 * self._config.timeout_s * (1 + self._num_open / lanes)
        for _ in range(2):
            try:
                return ray.get(part.answer, timeout=deadline)  # type: ignore[no-any-return]
            except ray.exceptions.GetTimeoutError:
                logger.error("rewards: a batch was not graded within %.0f s", deadline)
                self._replace(part.worker)
                return [error("service_timeout") for _ in part.requests]
            except ray.exceptions.RayActorError:
                if not self._is_alive(part.worker):
                    self._replace(part.worker)
                part.answer = self._workers[part.worker].score.remote(part.requests)
        return [error("worker_died") for _ in part.requests]

    def _is_alive(self, worker: int) -> bool:
        """Whether somebody has replaced a dead worker already."""
        try:
            ray.get(self._workers[worker].pid.remote(), timeout=_SLACK_S)
        except ray.exceptions.RayError:
            return False
        return True

    def _replace(self, worker: int) -> None:
        logger.error("rewards: worker %d died or hangs: replacing it", worker)
        ray.kill(self._workers[worker])
        self._workers[worker] = self._new_worker()
        self._num_replaced += 1

    def _new_worker(self) -> Any:
        return ray.remote(RewardWorker).options(num_cpus=0).remote(self._config)

    def _check_error_rate(self) -> None:
        window = self._config.error_window
        failed = [outcome for outcome in self._recent if not outcome.is_valid]
        rate = len(failed) / max(1, len(self._recent))
        if len(self._recent) * 4 < window or rate <= self._config.max_error_rate:
            return
        reasons = ", ".join(f"{reason} x{n}" for reason, n in _reasons(failed).most_common(3))
        raise RewardErrorRate(
            f"{rate:.0%} of the last {len(self._recent)} gradings failed "
            f"(reward.max_error_rate is {self._config.max_error_rate:.0%}): {reasons}; "
            f"the last one: {dict(failed[-1].detail)}"
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

    def metrics(self) -> dict[str, float]:
        """Return what happened since the last call."""
        outcomes, self._since_last = self._since_last, []
        times = sorted(outcome.time_s for outcome in outcomes) or [0.0]
        failed = [outcome for outcome in outcomes if not outcome.is_valid]
        metrics = {
            "reward/error_rate": len(failed) / max(1, len(outcomes)),
            "reward/timeouts": float(_reasons(failed)["timeout"]),
            "reward/workers_replaced": float(self._num_replaced),
            "time/reward_p50_s": statistics.median(times),
            "time/reward_p99_s": times[min(len(times) - 1, int(0.99 * len(times)))],
        }
        self._num_replaced = 0
        return metrics

    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return list(ray.get([worker.pid.remote() for worker in self._workers], timeout=_SLACK_S))

    def close(self) -> None:
        """End the workers and their processes."""
        for worker in self._workers:
            ray.kill(worker)


def _reasons(outcomes: Iterable[Outcome]) -> Counter[str]:
    return Counter(outcome.reason for outcome in outcomes)
