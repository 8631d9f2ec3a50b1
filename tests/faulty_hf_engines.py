"""Real `hf` engines with one fault each."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from mgpo.rollout.engine import GenerationRequest
from mgpo.rollout.hf_engine import HfEngine
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest


class FaultyPushHfEngine(HfEngine):
    """Misloads weights as the file at MGPO_TEST_FAULT says."""

    def _take(self, manifest: WeightManifest) -> LoadReport:
        fault = Path(os.environ["MGPO_TEST_FAULT"]).read_text()
        parameters = dict(self._model.named_parameters())
        if fault.startswith("skip"):
            self._policy_version = manifest.policy_version
            if fault == "skip_and_lie":
                return LoadReport(policy_version=manifest.policy_version, digests=manifest.digests)
            return self._report()
        if fault == "drop_bucket":
            manifest = replace(manifest, buckets=manifest.buckets[1:])
        head = parameters["model.embed_tokens.weight"].detach().clone()
        report = super()._take(manifest)
        if fault == "stale_head":
            parameters["model.embed_tokens.weight"].data.copy_(head)
        elif fault == "swapped":
            first = parameters["model.layers.0.mlp.up_proj.weight"].data
            second = parameters["model.layers.0.mlp.gate_proj.weight"].data
            kept = first.clone()
            first.copy_(second)
            second.copy_(kept)
        else:
            return report
        return self._report()


class SlowHfEngine(HfEngine):
    """Hands its groups out slowly, so that it can be killed among them."""

    async def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[tuple[int, tuple[Completion, ...]]]:
        async for group in super().generate(dispatch_id, requests):
            yield group
            await asyncio.sleep(0.3)
