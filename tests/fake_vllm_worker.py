"""vLLM workers whose weight loading has one planted fault, and the engine that uses them."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from mgpo.rollout.vllm_engine import VllmEngine
from mgpo.rollout.vllm_worker import WorkerExtension
from mgpo.weight_sync.types import WeightManifest


class FaultyWorker(WorkerExtension):
    """Misloads weights as the file at MGPO_TEST_FAULT says."""

    def mgpo_load_weights(self, manifest_json: str) -> dict[str, str]:
        manifest = WeightManifest.from_json(manifest_json)
        fault = Path(os.environ["MGPO_TEST_FAULT"]).read_text()
        if fault == "skip":
            return self.mgpo_digests()
        if fault == "skip_and_lie":
            return manifest.digests
        if fault == "drop_bucket":
            manifest = replace(manifest, buckets=manifest.buckets[1:])
        if fault == "swapped":
            manifest = _with_exchanged_records(manifest)
        if fault != "stale_head":
            return super().mgpo_load_weights(manifest.to_json())
        # What vLLM's own reload does on a CPU: the packed head stays the old one.
        from mgpo.rollout import vllm_worker

        pack, vllm_worker.pack_embeddings = vllm_worker.pack_embeddings, lambda model: None
        try:
            return super().mgpo_load_weights(manifest_json)
        finally:
            vllm_worker.pack_embeddings = pack


def _with_exchanged_records(manifest: WeightManifest) -> WeightManifest:
    names = [f"model.layers.0.mlp.{kind}_proj.weight" for kind in ("gate", "up")]
    exchanged = dict(zip(names, reversed(names), strict=True))
    return replace(
        manifest,
        buckets=tuple(
            replace(
                bucket,
                tensors=tuple(
                    replace(tensor, name=exchanged.get(tensor.name, tensor.name))
                    for tensor in bucket.tensors
                ),
            )
            for bucket in manifest.buckets
        ),
    )


class FaultyPushVllmEngine(VllmEngine):
    """A real vLLM engine with faulty workers."""

    def engine_arguments(self) -> dict[str, Any]:
        return {
            **super().engine_arguments(),
            "worker_extension_cls": "fake_vllm_worker.FaultyWorker",
        }
