"""Runs inside each of vLLM's own worker processes, as its `worker_extension_cls`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

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
        tensors = (
            (record.name, tensor)
            for bucket in manifest.buckets
            for record, tensor in read_bucket(bucket)
        )
        self.model_runner.reload_weights(weights_iterator=tensors)
        _pack_embeddings(self.model_runner.get_model())
        return self.mgpo_digests()

    @torch.no_grad()
    def mgpo_digests(self) -> Digests:
        """Digest the weights that this worker computes with, by their names in the checkpoint.

        With tensor parallelism it holds slices: then these are the whole tensors it was sent.
        """
        if self._holds_slices():
            received, self._received = self._received, {}
            return received
        weights = live_weights(self.model_runner.get_model())
        return {name: tensor_digest(weight) for name, weight in weights}


def _pack_embeddings(model: nn.Module) -> None:
    """Pack embedding and head anew: on a CPU vLLM's reload leaves the old head of a tied pair."""
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    for module in model.modules():
        if isinstance(module, VocabParallelEmbedding) and not module.weight.is_cuda:
            module.quant_method.process_weights_after_loading(module)


def live_weights(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (name in the checkpoint, weight) as the forward pass sees them, fused ones apart.

    What vLLM packed for the CPU is read back by multiplying it with the identity, which is exact:
    each result is one product and zeros. A tied head comes as the embedding; where it is packed
    apart and holds other values, it comes under a name of its own.
    """
    from vllm.model_executor.layers.vocab_parallel_embedding import (
        ParallelLMHead,
        VocabParallelEmbedding,
    )

    dtype = next(parameter.dtype for parameter in model.parameters() if parameter.ndim == 2)
    fused: dict[str, list[str]] = getattr(model, "packed_modules_mapping", {})
    embeddings: dict[int, torch.Tensor] = {}
    for name, parameter in model.named_parameters():
        path, _, kind = name.rpartition(".")
        module: Any = model.get_submodule(path)
        parent, _, last = path.rpartition(".")
        weight = parameter.detach()
        if weight.numel() == 0:
            weight = _read_back(module, module.input_size, dtype)
        elif isinstance(module, VocabParallelEmbedding):
            embeddings[id(parameter)] = weight
            weight = weight[: module.org_vocab_size]
        weight = weight.to(dtype)
        if last in fused:
            pieces = weight.split(module.output_sizes)
            for part, piece in zip(fused[last], pieces, strict=True):
                yield f"{parent}.{part}.{kind}", piece
        else:
            yield name, weight
    for path, module in model.named_modules():
        if isinstance(module, ParallelLMHead) and not module.weight.is_cuda:
            weight = embeddings[id(module.weight)]
            computed = _read_back(module, weight.shape[1], dtype)
            if not torch.equal(computed, weight):
                yield f"{path}.weight (as packed)", computed


def _read_back(layer: Any, input_size: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the weight (output size, input size) that a layer multiplies with."""
    identity = torch.eye(input_size, dtype=dtype)
    product: torch.Tensor = layer.quant_method.apply(layer, identity, None)
    return product.T.contiguous()
