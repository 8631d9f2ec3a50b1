"""The sandbox on a Ray cluster, with back-pressure. The only import of Ray here."""

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import ray

from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import WeakSandboxError
from sandbox.pool import Sandbox, failed
from sandbox.types import Judgement, Submission

_MAX_DEATHS = 2  # of actors, over one submission


class SandboxWorker:
    """Async actor around a sandbox on its node."""

    def __init__(self, config: SandboxConfig) -> None:
        self._sandbox = Sandbox(config)
        self._is_free = asyncio.Semaphore(2 * config.workers)

    async def judge(self, submission: Submission) -> Judgement:
        """Judge one program."""
        async with self._is_free:
            return await self._sandbox.judge_async(submission)

    async def tier(self) -> str:
        """The tier that was witnessed on this node."""
        return self._sandbox.report.tier

    async def pid(self) -> int:
        """Process id, for logs and tests."""
        return os.getpid()


class RaySandboxPool:
    """Judges on several actors; no more is in flight than they can take."""

    def __init__(
        self,
        config: SandboxConfig,
        num_actors: int = 1,
        actor_options: dict[str, Any] | None = None,
    ):
        """Start the actors, each with `config.workers` cores.

        Raises WeakSandboxError when one of the nodes is too weak.
        """
        self._config = config
        self._options = {"num_cpus": config.workers, **(actor_options or {})}
        self._actors = [self._new_actor() for _ in range(num_actors)]
        try:
            self.tiers: list[str] = ray.get([actor.tier.remote() for actor in self._actors])
        except ray.exceptions.RayActorError as error:  # its constructor's, with the report
            self.close()
            raise WeakSandboxError(str(error)) from error
        self.num_replaced = 0

    def judge(self, submissions: Iterable[Submission]) -> list[Judgement]:
        """Judge programs and return the judgements in their order."""
        return list(self.judge_each(submissions))

    def judge_each(self, submissions: Iterable[Submission]) -> Iterator[Judgement]:
        """Judge a stream of programs, taking no more from it than is in flight."""
        in_flight: deque[tuple[Submission, int, Any, Any]] = deque()
        capacity = 4 * self._config.workers * len(self._actors)
        for number, submission in enumerate(submissions):
            if len(in_flight) >= capacity:
                yield self._answer(*in_flight.popleft())
            place = number % len(self._actors)
            in_flight.append((submission, place, *self._send(submission, place)))
        while in_flight:
            yield self._answer(*in_flight.popleft())

    def close(self) -> None:
        """End the actors; their judges and zygotes end with them."""
        for actor in self._actors:
            ray.kill(actor)

    def worker_pids(self) -> list[int]:
        """Process ids of the actors."""
        return list(ray.get([actor.pid.remote() for actor in self._actors]))

    def _new_actor(self) -> Any:
        return ray.remote(SandboxWorker).options(**self._options).remote(self._config)

    def _send(self, submission: Submission, place: int) -> tuple[Any, Any]:
        actor = self._actors[place]
        return actor, actor.judge.remote(submission)

    def _answer(self, submission: Submission, place: int, actor: Any, answer: Any) -> Judgement:
        """Wait for one judgement; an actor that died is replaced, and its work done again."""
        for _ in range(1 + _MAX_DEATHS):
            try:
                judgement: Judgement = ray.get(answer)
            except ray.exceptions.RayActorError:
                if self._actors[place] is actor:
                    self._actors[place] = self._new_actor()
                    self.num_replaced += 1
                actor, answer = self._send(submission, place)
            except ray.exceptions.RayTaskError as error:  # a language that is not there, say
                return failed(submission, self.tiers[place], str(error.cause))
            else:
                return judgement
        return failed(submission, self.tiers[place], f"{1 + _MAX_DEATHS} actors died over it")
