"""Key-value cache and attention of the `hf` engine.

transformers' own cache copies everything at each token; this one grows in blocks and returns views.
Shape suffixes: B rows, H heads, K key-value heads, Q queries, L cached positions, D head width.
"""

from typing import Any

import torch
import torch.nn.functional as F
from transformers import AttentionInterface

ENGINE_SDPA = "mgpo_engine_sdpa"
"""Name of this attention in transformers' registry."""
_GROWTH = 64


class GrowingCache:
    """Keys and values of all layers; takes the place of transformers' Cache in a forward pass."""

    def __init__(self) -> None:
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._length = 0

    def update(
        self, key_BKQD: torch.Tensor, value_BKQD: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append to one layer; return all its keys and values so far."""
        start = 0 if layer_idx == len(self._layers) else self._length
        end = start + key_BKQD.shape[2]
        if start == 0:
            self._layers.append((_room(key_BKQD, end), _room(value_BKQD, end)))
        elif end > self._layers[layer_idx][0].shape[2]:
            keys, values = self._layers[layer_idx]
            self._layers[layer_idx] = (_enlarged(keys, start, end), _enlarged(values, start, end))
        keys, values = self._layers[layer_idx]
        keys[:, :, start:end] = key_BKQD
        values[:, :, start:end] = value_BKQD
        return keys[:, :, :end], values[:, :, :end]

    def advance(self, num_tokens: int) -> None:
        """Count tokens after a forward pass through all layers."""
        self._length += num_tokens

    def select(self, rows_B: torch.Tensor) -> None:
        """Keep (or repeat) rows."""
        self._layers = [
            (keys.index_select(0, rows_B), values.index_select(0, rows_B))
            for keys, values in self._layers
        ]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Cached positions."""
        return self._length


def _room(tensor: torch.Tensor, length: int) -> torch.Tensor:
    rows, heads, _, width = tensor.shape
    return tensor.new_empty(rows, heads, -(-length // _GROWTH) * _GROWTH + _GROWTH, width)


def _enlarged(tensor: torch.Tensor, used: int, needed: int) -> torch.Tensor:
    room = _room(tensor, needed)
    room[:, :, :used] = tensor[:, :, :used]
    return room


def engine_sdpa(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend with grouped heads without copying keys and values; as transformers calls it.

    query (B, H, Q, D), key and value (B, K, L, D), mask (B, 1, Q, L); returns (B, Q, H, D).
    """
    num_queries, num_groups = query.shape[2], query.shape[1] // key.shape[1]
    if num_queries == 1:
        # The heads of one group are queries of the same keys.
        grouped_BKGD = query.unflatten(1, (-1, num_groups)).squeeze(3)
        out_BKGD = F.scaled_dot_product_attention(
            grouped_BKGD, key, value, attn_mask=attention_mask, scale=scaling
        )
        return out_BKGD.flatten(1, 2)[:, None], None
    out_BHQD = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=scaling, enable_gqa=num_groups > 1
    )
    return out_BHQD.transpose(1, 2), None


AttentionInterface.register(ENGINE_SDPA, engine_sdpa)
