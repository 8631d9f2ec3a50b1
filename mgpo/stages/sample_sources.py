"""Where a stage that learns nothing gets its samples from: engines of its own, or a server."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Protocol

from mgpo.config.errors import UserError
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.rollout.chat_client import ChatAnswer, ChatClient, ChatFailure
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.sampling import stored_request, stored_seed
from mgpo.tracking.sample_store import UNGRADED, SampleKey, StoredSample
from mgpo.types import Prompt

logger = logging.getLogger(__name__)

_MAX_FAILURES_IN_A_ROW = 8
"""Requests that fail one after the other before a server is given up."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One sample that is asked for."""

    prompt: Prompt
    sample_index: int

    @property
    def key(self) -> SampleKey:
        """What the store knows it by."""
        return self.prompt.id, self.sample_index


class SampleSource(Protocol):
    """Something that completes prompts."""

    @property
    def dispatch_size(self) -> int:
        """How many consecutive samples travel together: what a deterministic source samples may
        depend on them, and on nothing else."""

    def generate(
        self, todo: Sequence[Wanted], sampling: SamplingConfig
    ) -> Iterator[tuple[int, StoredSample]]:
        """Yield (index into `todo`, the sample, ungraded) as they finish, in any order.

        A sample that could not be generated is logged and absent.
        """


class PoolSource:
    """The rollout engines."""

    def __init__(self, rollouts: RolloutPool, seed: int, context: int) -> None:
        """`context` is the longest sequence in tokens."""
        self._rollouts = rollouts
        self._seed = seed
        self._context = context

    @property
    def dispatch_size(self) -> int:
        """What the engine's limits say."""
        return self._rollouts.dispatch_size(1)

    def generate(
        self, todo: Sequence[Wanted], sampling: SamplingConfig
    ) -> Iterator[tuple[int, StoredSample]]:
        """Yield samples as they finish."""
        requests = [
            stored_request(
                wanted.prompt,
                wanted.sample_index,
                sampling,
                seed=self._seed,
                context=self._context,
            )
            for wanted in todo
        ]
        for index, completions in self._rollouts.generate(requests):
            yield index, StoredSample.of(todo[index].key, completions[0], UNGRADED)


class ServerSource:
    """An OpenAI-compatible server."""

    dispatch_size = 1

    def __init__(self, config: ServerConfig, seed: int) -> None:
        self._config = config
        self._seed = seed

    def generate(
        self, todo: Sequence[Wanted], sampling: SamplingConfig
    ) -> Iterator[tuple[int, StoredSample]]:
        """Yield samples as they finish. Raises UserError when the server is out of order."""
        num_failed = 0
        with asyncio.Runner() as runner:
            stack = AsyncExitStack()
            client = runner.run(stack.enter_async_context(ChatClient(self._config)))
            waiting = iter(enumerate(todo))
            running: dict[asyncio.Task[ChatAnswer], int] = {}
            try:
                while True:
                    self._start(runner, client, waiting, running, sampling)
                    if not running:
                        return
                    for task in runner.run(_first_done(running)):
                        index = running.pop(task)
                        sample = self._sample(todo[index], task)
                        num_failed = 0 if sample else num_failed + 1
                        if sample:
                            yield index, sample
                        elif num_failed >= _MAX_FAILURES_IN_A_ROW:
                            raise UserError(
                                f"{num_failed} requests in a row failed, the last with "
                                f"{task.exception()}; the same command tries again"
                            )
            finally:
                runner.run(_cancel(running))
                runner.run(stack.aclose())

    def _start(
        self,
        runner: asyncio.Runner,
        client: ChatClient,
        waiting: Iterator[tuple[int, Wanted]],
        running: dict[asyncio.Task[ChatAnswer], int],
        sampling: SamplingConfig,
    ) -> None:
        """Keep as many requests under way as the server may have."""
        while len(running) < self._config.max_concurrent_requests:
            item = next(waiting, None)
            if item is None:
                return
            index, wanted = item
            seed = stored_seed(wanted.prompt.id, wanted.sample_index, seed=self._seed)
            answer = client.complete(wanted.prompt.messages, sampling, seed)
            running[runner.get_loop().create_task(answer)] = index

    def _sample(self, wanted: Wanted, task: asyncio.Task[ChatAnswer]) -> StoredSample | None:
        try:
            answer = task.result()
        except ChatFailure as failure:
            logger.warning(
                "sample %d of prompt %s failed: %s", wanted.sample_index, wanted.prompt.id, failure
            )
            return None
        return StoredSample(
            prompt_id=wanted.prompt.id,
            sample_index=wanted.sample_index,
            text=answer.text,
            num_tokens=answer.num_tokens,
            finish_reason=answer.finish_reason,
            mean_logprob=answer.mean_logprob,
            outcome=UNGRADED,
        )


async def _first_done(
    running: dict[asyncio.Task[ChatAnswer], int],
) -> set[asyncio.Task[ChatAnswer]]:
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    return done


async def _cancel(running: dict[asyncio.Task[ChatAnswer], int]) -> None:
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
