"""The weights a live vLLM model computes with, also where vLLM has packed them for the CPU."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

_SAMPLED_COLUMNS = 32
"""Of a packed weight, read back after a push. An update changes values all over a tensor, so that a
stale or exchanged one shows in any few columns; each push takes others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveWeight:
    """A weight as the forward pass sees it, under its name in the checkpoint."""

    name: str
    values: torch.Tensor
    columns: torch.Tensor | None = None
    """The columns that `values` holds; None: all."""


def pack_embeddings(model: nn.Module) -> None:
    """Pack embedding and head anew: on a CPU vLLM's reload leaves the old head of a tied pair."""
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    for module in model.modules():
        if isinstance(module, VocabParallelEmbedding) and not module.weight.is_cuda:
            module.quant_method.process_weights_after_loading(module)


def live_weights(model: nn.Module) -> Iterator[LiveWeight]:
    """Yield every weight of a model, fused ones apart.

    A packed weight is read back by multiplying it with columns of the identity, which is exact:
    each result is one product and zeros. A tied head comes as the embedding; where it is packed
    apart and holds other values, it comes under a name of its own.
    """
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    dtype = next(parameter.dtype for parameter in model.parameters() if parameter.ndim == 2)
    fused: dict[str, list[str]] = getattr(model, "packed_modules_mapping", {})
    for name, parameter in model.named_parameters():
        path, _, kind = name.rpartition(".")
        module: Any = model.get_submodule(path)
        parent, _, last = path.rpartition(".")
        weight, columns = parameter.detach(), None
        if weight.numel() == 0:
            columns = _choose_columns(module.input_size)
            weight = _read_back(module, module.input_size, columns, dtype)
        elif isinstance(module, VocabParallelEmbedding):
            weight = weight[: module.org_vocab_size]
        weight = weight.to(dtype)  # vLLM widens some packed biases
        if last in fused:
            pieces = weight.split(module.output_sizes)
            for part, piece in zip(fused[last], pieces, strict=True):
                yield LiveWeight(name=f"{parent}.{part}.{kind}", values=piece, columns=columns)
        else:
            yield LiveWeight(name=name, values=weight, columns=columns)
    yield from _stale_heads(model, dtype)


def _stale_heads(model: nn.Module, dtype: torch.dtype) -> Iterator[LiveWeight]:
    """Yield heads whose packed copy differs from their weight."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for path, module in model.named_modules():
        if isinstance(module, ParallelLMHead) and not module.weight.is_cuda:
            columns = _choose_columns(module.weight.shape[1])
            packed = _read_back(module, module.weight.shape[1], columns, dtype)
            if not torch.equal(packed, module.weight[:, columns]):
                name = f"{path}.weight (as packed)"
                yield LiveWeight(name=name, values=packed, columns=columns)


def _choose_columns(count: int) -> torch.Tensor:
    return torch.randperm(count)[:_SAMPLED_COLUMNS]


def _read_back(
    layer: Any, input_size: int, columns: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Return columns of the weight (output size, columns) that a layer multiplies with."""
    unit_vectors = nn.functional.one_hot(columns, input_size).to(dtype)
    product: torch.Tensor = layer.quant_method.apply(layer, unit_vectors, None)
    return product.T.contiguous()
