"""All rollout engines behind synchronous calls: requests in, finished groups out, one by one.

The pool survives a dead or stuck engine: it is replaced, given the current weights, and its work is
done again. A dispatch is a fixed slice of the requests, so what is sampled does not depend on which
engine is free, nor on a fault.
"""

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import ray

from mgpo.cluster import ActorOptions
from mgpo.config.rollout import EngineConfig
from mgpo.rollout.engine import EngineLimits, EngineSetup, GenerationRequest
from mgpo.rollout.metrics import RolloutCounters
from mgpo.tracking.code_version import refuse_other_code
from mgpo.types import Completion
from mgpo.weight_sync.push import check_report
from mgpo.weight_sync.transport import SentWeights
from mgpo.weight_sync.types import LoadReport

logger = logging.getLogger(__name__)

_MAX_ATTEMPTS = 2
_ABORT_GRACE_S = 10.0
_RSS_PATIENCE_S = 5.0
Finished = tuple[int, tuple[Completion, ...]]


@dataclass(slots=True)
class _Dispatch:
    """Consecutive requests that travel together."""

    first: int
    requests: Sequence[GenerationRequest]
    attempts: int = 0
    delivered: set[int] = field(default_factory=set)
    deadline: float = 0.0
    worker: int = -1
    stream: Any = None
    name: str = ""
    """Never used twice, so that a late abort can't hit another dispatch."""

    @property
    def num_missing(self) -> int:
        return len(self.requests) - len(self.delivered)


class _DiedAtStart(Exception):
    """A replaced engine did not live to take weights."""


class RolloutPool:
    """Keeps every engine busy and every wait bounded."""

    def __init__(
        self,
        config: EngineConfig,
        engine_path: str,
        engine_setup: EngineSetup,
        *,
        num_threads: int,
        options: Sequence[ActorOptions],
        shares_device: bool = False,
    ) -> None:
        self._config = config
        self._spec = (engine_path, engine_setup, num_threads)
        self._options = options
        self._shares_device = shares_device
        self._weights: SentWeights | None = None
        self._counters = RolloutCounters()
        self._restarts_left = config.max_restarts
        self._dispatch_numbers = count()
        self._killed: set[int] = set()
        self._workers = [self._new_actor(index) for index in range(config.num_workers)]
        self._loading = [worker.start.remote() for worker in self._workers]

    def wait_until_loaded(self) -> None:
        """Wait for the engines to be ready, whose start began when this object was made.

        Raises UserError if one runs other code than the driver.
        """
        self._await_start(self._workers, self._loading)

    def dispatch_size(self, group_size: int) -> int:
        """Return how many consecutive requests of that group size travel together.

        What a deterministic engine samples may depend on what shares a dispatch.
        """
        return self._limits(group_size).requests_per_dispatch

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[Finished]:
        """Yield (index into `requests`, completions) as groups finish, in any order.

        A group that could not be generated in two attempts is dropped and counted. Raises
        RuntimeError when more than `rollout.max_restarts` engines had to be replaced, ValueError
        for a request that no engine can serve. If the caller stops early, what runs is aborted.
        """
        if not requests:
            return
        self._restarts_left = self._config.max_restarts
        for worker in sorted(self._killed):
            self._replace(worker)
        limits = self._limits(len(requests[0].seeds))
        size = limits.requests_per_dispatch
        queue = deque(
            _Dispatch(first, requests[first : first + size])
            for first in range(0, len(requests), size)
        )
        running: list[_Dispatch] = []
        started = time.monotonic()
        try:
            while queue or running:
                self._fill(queue, running, limits)
                yield from self._next_groups(queue, running)
        finally:
            self._counters.busy_s += time.monotonic() - started
            self._abandon(running)

    def _fill(
        self, queue: deque[_Dispatch], running: list[_Dispatch], limits: EngineLimits
    ) -> None:
        """Give waiting dispatches to the least loaded engines."""
        loads = [0] * len(self._workers)
        for dispatch in running:
            loads[dispatch.worker] += 1
        while queue and min(loads) < limits.max_dispatches:
            dispatch = queue.popleft()
            dispatch.worker = loads.index(min(loads))
            dispatch.attempts += 1
            dispatch.name = self._new_name()
            dispatch.stream = self._workers[dispatch.worker].generate.remote(
                dispatch.name, dispatch.requests
            )
            dispatch.deadline = time.monotonic() + self._config.timeout_s
            loads[dispatch.worker] += 1
            running.append(dispatch)

    def _next_groups(self, queue: deque[_Dispatch], running: list[_Dispatch]) -> Iterator[Finished]:
        """Wait for the next event of any running dispatch and act on it."""
        by_stream = {dispatch.stream: dispatch for dispatch in running}
        patience = max(0.0, min(d.deadline for d in running) - time.monotonic())
        ready, _ = ray.wait(list(by_stream), num_returns=1, timeout=patience)
        for stream in ready:
            dispatch = by_stream[stream]
            try:
                index, completions = ray.get(next(dispatch.stream))
            except StopIteration:
                running.remove(dispatch)
                if dispatch.num_missing:
                    self._retry(dispatch, queue, "it ended without them")
                continue
            except ray.exceptions.RayActorError:
                self._lose_worker(dispatch.worker, queue, running, "died")
                continue
            dispatch.deadline = time.monotonic() + self._config.timeout_s
            is_whole = all(done.finish_reason != "abort" for done in completions)
            if is_whole and index not in dispatch.delivered:
                dispatch.delivered.add(index)
                self._counters.count(completions)
                yield dispatch.first + index, completions
        if not ready:
            self._end_overdue(queue, running)

    def _end_overdue(self, queue: deque[_Dispatch], running: list[_Dispatch]) -> None:
        """Abort what missed its deadline; replace an engine that doesn't even answer to that."""
        now = time.monotonic()
        for dispatch in [d for d in running if d.deadline <= now]:
            if dispatch not in running:
                continue
            logger.error(
                "waited %.0f s for the next of %d groups (first: prompt %s) of rollout engine %d",
                self._config.timeout_s,
                dispatch.num_missing,
                dispatch.requests[0].prompt_id,
                dispatch.worker,
            )
            if self._still_running([dispatch]):
                self._lose_worker(dispatch.worker, queue, running, "is stuck")
            else:
                self._counters.aborted_dispatches += 1
                running.remove(dispatch)
                self._retry(dispatch, queue, "it missed its deadline")

    def _still_running(self, dispatches: Sequence[_Dispatch]) -> list[_Dispatch]:
        """Abort dispatches; return those whose streams don't end within the grace period."""
        for dispatch in dispatches:
            self._workers[dispatch.worker].abort.remote(dispatch.name)
        end = time.monotonic() + _ABORT_GRACE_S
        return [dispatch for dispatch in dispatches if not _has_ended(dispatch.stream, end)]

    def _retry(self, dispatch: _Dispatch, queue: deque[_Dispatch], why: str) -> None:
        if dispatch.attempts < _MAX_ATTEMPTS:
            queue.appendleft(dispatch)
            return
        self._counters.dropped_groups += dispatch.num_missing
        logger.error(
            "dropping %d groups after %d attempts: %s", dispatch.num_missing, dispatch.attempts, why
        )

    def _lose_worker(
        self, worker: int, queue: deque[_Dispatch], running: list[_Dispatch], what: str
    ) -> None:
        """Replace an engine; all of its dispatches are done again as they were."""
        logger.error("rollout engine %d %s: replacing it", worker, what)
        for dispatch in [d for d in running if d.worker == worker]:
            running.remove(dispatch)
            self._retry(dispatch, queue, f"its engine {what}")
        self._replace(worker)

    def _replace(self, worker: int) -> LoadReport | None:
        """Put a new engine with the current weights in a worker's place; return its report."""
        while True:
            if self._restarts_left == 0:
                raise RuntimeError(
                    f"more than rollout.max_restarts ({self._config.max_restarts}) engines failed "
                    "within one batch; their logs in Ray's session folder say why"
                )
            self._restarts_left -= 1
            self._counters.restarts += 1
            ray.kill(self._workers[worker])
            try:
                return self._start_anew(worker)
            except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError, _DiedAtStart):
                logger.exception("rollout engine %d died again while it started", worker)

    def _start_anew(self, worker: int) -> LoadReport | None:
        actor = self._workers[worker] = self._new_actor(worker)
        self._await_start([actor], [actor.start.remote()])
        self._killed.discard(worker)
        if self._weights is None:
            return None
        report = self._weights.deliver([actor])[0]
        if report is None:
            raise _DiedAtStart
        check_report(self._weights, report, f"rollout engine {worker}")
        return report

    def _abandon(self, running: list[_Dispatch]) -> None:
        """Leave no generation behind when the caller stops early."""
        self._counters.aborted_dispatches += len(running)
        for worker in {dispatch.worker for dispatch in self._still_running(running)}:
            logger.error("rollout engine %d does not stop: ending it", worker)
            ray.kill(self._workers[worker])
            # Replaced when it is needed next: the caller may be about to leave.
            self._killed.add(worker)

    def take_weights(self, weights: SentWeights) -> list[LoadReport]:
        """Make every engine take new weights; a dead one is replaced."""
        self._weights = weights
        self._restarts_left = self._config.max_restarts
        reports: list[LoadReport] = []
        for index, delivered in enumerate(weights.deliver(self._workers)):
            report = delivered
            if report is None:
                logger.error("rollout engine %d died before a push: replacing it", index)
                report = self._replace(index)
                assert report is not None, "the weights are known, so the new engine took them"
            reports.append(report)
        return reports

    def sleep(self) -> None:
        """Let engines that share the learner's devices give their memory back, until they are
        needed."""
        if not self._shares_device:
            return
        for index, call in enumerate([worker.sleep.remote() for worker in self._workers]):
            try:
                self._wait("engines to sleep", [call])
            except ray.exceptions.RayActorError:  # holds no memory; replaced when needed next
                logger.error("rollout engine %d died before it was to sleep", index)

    def generate_on_each(
        self, requests: Sequence[GenerationRequest]
    ) -> list[list[tuple[Completion, ...]]]:
        """Let every engine answer the same requests; used by the canary check."""
        answers = []
        for index in range(len(self._workers)):
            while True:
                try:
                    answers.append(self._answers(index, requests))
                    break
                except ray.exceptions.RayActorError:
                    self._replace(index)
        return answers

    def _answers(
        self, worker: int, requests: Sequence[GenerationRequest]
    ) -> list[tuple[Completion, ...]]:
        stream = self._workers[worker].generate.remote(self._new_name(), requests)
        groups: dict[int, tuple[Completion, ...]] = {}
        for _ in requests:
            ready, _ = ray.wait([stream], timeout=self._config.timeout_s)
            if not ready:
                raise RuntimeError(
                    f"rollout: waited {self._config.timeout_s:.0f} s (rollout.timeout_s) "
                    "for a canary"
                )
            index, completions = ray.get(next(stream))
            groups[index] = completions
        return [groups[index] for index in range(len(requests))]

    def metrics(self) -> dict[str, float]:
        """Return what happened since the last call, and each engine's peak memory.

        An engine that does not answer at once has no figure.
        """
        calls = {worker.rss_mib.remote(): index for index, worker in enumerate(self._workers)}
        answered, _ = ray.wait(list(calls), num_returns=len(calls), timeout=_RSS_PATIENCE_S)
        metrics = self._counters.take()
        for call in answered:
            with suppress(ray.exceptions.RayActorError):
                metrics[f"rollout/rss_mib_{calls[call]}"] = ray.get(call)
        return metrics

    def worker_pids(self) -> list[int]:
        """Process ids of the engines' actors."""
        return self._wait("process ids", [worker.pid.remote() for worker in self._workers])

    def close(self) -> None:
        """End all engines and what they started."""
        calls = [worker.close.remote() for worker in self._workers]
        ray.wait(calls, num_returns=len(calls), timeout=_ABORT_GRACE_S)
        for worker in self._workers:
            ray.kill(worker)

    def _limits(self, group_size: int) -> EngineLimits:
        for _ in range(self._config.max_restarts + 1):
            for index, worker in enumerate(self._workers):
                try:
                    return self._wait("an engine's limits", [worker.limits.remote(group_size)])[0]
                except ray.exceptions.RayActorError:
                    self._replace(index)
        raise RuntimeError("no rollout engine answers")

    def _new_name(self) -> str:
        return str(next(self._dispatch_numbers))

    def _new_actor(self, worker: int) -> Any:
        from mgpo.rollout.worker import RolloutWorker

        return ray.remote(RolloutWorker).options(**self._options[worker]).remote(*self._spec)

    def _await_start(self, workers: Sequence[Any], loading: Sequence[Any]) -> None:
        limit = self._config.start_timeout_s
        try:
            ray.get(list(loading), timeout=limit)
        except ray.exceptions.GetTimeoutError as error:
            raise RuntimeError(
                f"rollout: an engine did not load its model within {limit:.0f} s "
                "(rollout.start_timeout_s)"
            ) from error
        calls = [worker.code_version.remote() for worker in workers]
        refuse_other_code("rollout engines", self._wait("code versions", calls))

    def _wait(self, what: str, calls: list[Any]) -> list[Any]:
        try:
            return ray.get(calls, timeout=self._config.timeout_s)
        except ray.exceptions.GetTimeoutError as error:
            raise RuntimeError(
                f"rollout: waited {self._config.timeout_s:.0f} s (rollout.timeout_s) for {what}"
            ) from error


def _has_ended(stream: Any, end: float) -> bool:
    """Drain a stream; False if the time is over before its end, or its actor is dead."""
    try:
        while ray.wait([stream], timeout=max(0.0, end - time.monotonic()))[0]:
            ray.get(next(stream))
    except (StopIteration, ray.exceptions.RayTaskError):
        return True
    except ray.exceptions.RayActorError:
        return False
    return False
