"""Engines with scripted behaviour for tests of the pool: real objects that follow the protocol."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from mgpo.rollout.engine import EngineLimits, GenerationRequest
from mgpo.rollout.hf_engine import HfEngine
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest


class ScriptedEngine:
    """Answers each seed with one token; misbehaves once per marker file, on one prompt."""

    def __init__(
        self, folder: str, fault: str = "none", faulty_prompt: str = "", delay_s: float = 0.0
    ):
        self._folder = Path(folder)
        self._fault = fault
        self._faulty_prompt = faulty_prompt
        self._delay_s = delay_s
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


class FaultyPushEngine(HfEngine):
    """A real engine whose weight loading has one planted fault."""

    def __init__(self, *, fault: str, **arguments):
        super().__init__(**arguments)
        self._fault = fault

    def _take(self, manifest: WeightManifest) -> LoadReport:
        if manifest.policy_version == 0:
            return super()._take(manifest)
        parameters = dict(self._model.named_parameters())
        if self._fault.startswith("skip"):
            self._policy_version = manifest.policy_version
            if self._fault == "skip_and_lie":
                return LoadReport(policy_version=manifest.policy_version, digests=manifest.digests)
            return self._report()
        if self._fault == "drop_bucket":
            manifest = replace(manifest, buckets=manifest.buckets[1:])
        head = parameters["model.embed_tokens.weight"].detach().clone()
        report = super()._take(manifest)
        if self._fault == "stale_head":
            parameters["model.embed_tokens.weight"].data.copy_(head)
        elif self._fault == "swapped":
            first = parameters["model.layers.0.mlp.up_proj.weight"].data
            second = parameters["model.layers.0.mlp.gate_proj.weight"].data
            kept = first.clone()
            first.copy_(second)
            second.copy_(kept)
        else:
            return report
        return self._report()
