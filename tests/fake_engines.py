"""Engines with scripted behaviour for tests of the pool: real objects that follow the protocol.

They start in a moment, since they need neither torch nor transformers.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgpo.rollout.engine import EngineLimits, GenerationRequest
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest


@dataclass(frozen=True)
class Script:
    """What a scripted engine is set up with."""

    folder: str
    fault: str = "none"
    faulty_prompt: str = ""
    delay_s: float = 0.0


class ScriptedEngine:
    """Answers each seed with one token; misbehaves once per marker file, on one prompt."""

    def __init__(self, script: Script) -> None:
        self._folder = Path(script.folder)
        self._fault = script.fault
        self._faulty_prompt = script.faulty_prompt
        self._delay_s = script.delay_s
        self._aborted: set[str] = set()
        self._policy_version = 0

    async def start(self) -> None:
        pass

    def limits(self, group_size: int) -> EngineLimits:
        return EngineLimits(requests_per_dispatch=2, max_dispatches=2)

    async def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[tuple[int, tuple[Completion, ...]]]:
        for index, request in enumerate(requests):
            if request.prompt_id == self._faulty_prompt and self._may_fail():
                await self._misbehave(dispatch_id)
            await asyncio.sleep(self._delay_s)
            reason = "abort" if dispatch_id in self._aborted else "stop"
            yield index, tuple(self._answer(request, seed, reason) for seed in request.seeds)

    def _answer(self, request: GenerationRequest, seed: int, reason: str) -> Completion:
        return Completion(
            token_ids=(seed,),
            rollout_logprobs=(-0.5,),
            finish_reason=reason,
            policy_version=self._policy_version,
            text=f"{request.prompt_id}:{os.getpid()}",
        )

    def _may_fail(self) -> bool:
        if self._fault.endswith("always"):
            return True
        marker = self._folder / "failed"
        if marker.exists():
            return False
        marker.touch()
        return True

    async def _misbehave(self, dispatch_id: str) -> None:
        kind = self._fault.split("-")[0]
        if kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "raise":
            raise RuntimeError("the engine is broken")
        elif kind == "refuse":
            raise ValueError("prompt is too long")
        elif kind == "hang":
            while dispatch_id not in self._aborted:
                await asyncio.sleep(0.05)
        elif kind == "freeze":
            import time

            time.sleep(1000)

    async def abort(self, dispatch_id: str) -> None:
        self._aborted.add(dispatch_id)

    async def load_weights(self, manifest: WeightManifest) -> LoadReport:
        self._policy_version = manifest.policy_version
        return LoadReport(policy_version=manifest.policy_version, digests=manifest.digests)

    async def close(self) -> None:
        pass
