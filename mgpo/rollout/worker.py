"""One rollout engine in a Ray actor."""

import asyncio
import importlib
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mgpo.rollout.engine import Engine, EngineLimits, EngineSetup, GenerationRequest
from mgpo.rollout.process_tree import peak_memory_mib
from mgpo.tracking.code_version import CodeVersion, code_version
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest

logger = logging.getLogger(__name__)


class RolloutWorker:
    """Async actor around an Engine; a broken engine ends the process, so that no corpse answers."""

    def __init__(self, engine_path: str, setup: EngineSetup, num_threads: int) -> None:
        # Torch reads it, which the engine's module is the first to import, and the processes that
        # the engine starts.
        os.environ["OMP_NUM_THREADS"] = str(num_threads)
        module, _, name = engine_path.partition(":")
        self._engine: Engine = getattr(importlib.import_module(module), name)(setup)

    async def start(self) -> None:
        """Load the model."""
        await self._engine.start()

    async def code_version(self) -> CodeVersion:
        """Return which code this process runs."""
        return code_version()

    async def limits(self, group_size: int) -> EngineLimits:
        """How the engine wants to be fed."""
        return self._engine.limits(group_size)

    async def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[tuple[int, tuple[Completion, ...]]]:
        """Stream finished groups; a ValueError about a request goes back to the caller."""
        with _fatal_failures():
            async for index, completions in self._engine.generate(dispatch_id, requests):
                _check(requests[index], completions)
                yield index, completions

    async def abort(self, dispatch_id: str) -> None:
        """Stop a dispatch soon."""
        with _fatal_failures():
            await self._engine.abort(dispatch_id)

    async def load_weights(self, manifest: WeightManifest) -> LoadReport:
        """Take new weights; a ValueError about them goes back to the caller."""
        with _fatal_failures():
            return await self._engine.load_weights(manifest)

    async def transfer(self, method: str, payload: Any) -> None:
        """Pass one of vLLM's weight-transfer calls on to the engine."""
        with _fatal_failures():
            await self._engine.transfer(method, payload)

    async def confirm_weights(self, policy_version: int) -> LoadReport:
        """Report what the engine computes with after a transfer."""
        with _fatal_failures():
            return await self._engine.confirm_weights(policy_version)

    async def sleep(self) -> None:
        """Leave a shared device's memory to the learner."""
        with _fatal_failures():
            await self._engine.sleep()

    async def rss_mib(self) -> float:
        """Peak memory of this process and of all that the engine started."""
        return peak_memory_mib(os.getpid())

    async def pid(self) -> int:
        """Process id, for logs and tests."""
        return os.getpid()

    async def close(self) -> None:
        """Free the engine."""
        await self._engine.close()


@contextmanager
def _fatal_failures() -> Iterator[None]:
    """End the process when the engine fails: the next call must not meet what is left of it."""
    try:
        yield
    except (ValueError, asyncio.CancelledError, GeneratorExit):
        raise
    except Exception:
        logger.exception("the engine failed; ending its process")
        os._exit(1)


def _check(request: GenerationRequest, completions: Sequence[Completion]) -> None:
    """Hold every engine to the protocol: one log-prob per token, and a completion per seed."""
    if len(completions) != len(request.seeds):
        raise RuntimeError(
            f"prompt {request.prompt_id}: {len(completions)} completions "
            f"for {len(request.seeds)} seeds"
        )
    for done in completions:
        if len(done.token_ids) != len(done.rollout_logprobs) or not all(
            -float("inf") < value <= 0.0 for value in done.rollout_logprobs
        ):
            raise RuntimeError(
                f"prompt {request.prompt_id}: log-probs don't fit the sampled tokens "
                f"({len(done.rollout_logprobs)} for {len(done.token_ids)}, finite and <= 0 "
                "required)"
            )
