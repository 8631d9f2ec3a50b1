"""Runs inside each of vLLM's own worker processes, as its `worker_extension_cls`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from mgpo.rollout.vllm_weights import LiveWeight, live_weights, pack_embeddings
from mgpo.weight_sync.digest import tensor_digest
from mgpo.weight_sync.shared_memory import read_bucket
from mgpo.weight_sync.types import WeightManifest

if TYPE_CHECKING:
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

Digests = dict[str, str]


class WorkerExtension:
    """Methods that vLLM adds to its worker; called by name through `collective_rpc`."""

    model_runner: "GPUModelRunner"

    def mgpo_prepare(self, vocab_size: int) -> None:
        """Give ids past the tokenizer's length no probability, and watch what weights come in."""
        model: Any = self.model_runner.get_model()
        compute_logits, load_weights = model.compute_logits, model.load_weights
        self._received: Digests = {}

        def compute_restricted(*args: Any, **kwargs: Any) -> torch.Tensor | None:
            logits: torch.Tensor | None = compute_logits(*args, **kwargs)
            if logits is not None:  # ranks without the head have none
                logits[..., vocab_size:] = -torch.inf
            return logits

        def load_watched(weights: Iterable[tuple[str, torch.Tensor]]) -> Any:
            return load_weights(self._watch(weights))

        model.compute_logits = compute_restricted
        if self._holds_slices():
            model.load_weights = load_watched

    def _holds_slices(self) -> bool:
        return bool(self.model_runner.parallel_config.world_size > 1)

    def _watch(
        self, weights: Iterable[tuple[str, torch.Tensor]]
    ) -> Iterator[tuple[str, torch.Tensor]]:
        for name, weight in weights:
            self._received[name] = tensor_digest(weight)
            yield name, weight

    @torch.no_grad()
    def mgpo_load_weights(self, manifest_json: str) -> Digests:
        """Take the weights that a manifest names from shared memory, and digest what is held."""
        manifest = WeightManifest.from_json(manifest_json)
        sent = {
            record.name: (record.digest, tensor)
            for bucket in manifest.buckets
            for record, tensor in read_bucket(bucket)
        }
        weights = ((name, tensor) for name, (_, tensor) in sent.items())
        self.model_runner.reload_weights(weights_iterator=weights)
        model = self.model_runner.get_model()
        pack_embeddings(model)
        if self._holds_slices():
            return self.mgpo_digests()
        return {live.name: _digest_if_equal(live, sent) for live in live_weights(model)}

    @torch.no_grad()
    def mgpo_digests(self) -> Digests:
        """Digest the weights on a GPU, where none is packed, by their names in the checkpoint.

        With tensor parallelism it holds slices: then these are the whole tensors it was sent.
        """
        if self._holds_slices():
            received, self._received = self._received, {}
            return received
        weights = live_weights(self.model_runner.get_model())
        return {live.name: tensor_digest(live.values) for live in weights}


def _digest_if_equal(live: LiveWeight, sent: Mapping[str, tuple[str, torch.Tensor]]) -> str:
    """Return the digest of the tensor that was sent, if that is what the model computes with."""
    if live.name in sent:
        digest, tensor = sent[live.name]
        expected = tensor if live.columns is None else tensor[:, live.columns]
        if torch.equal(live.values, expected):
            return digest
    return tensor_digest(live.values)
