"""Causal attention over packed rows: no mask, no token of another row.

On the GPU flash-attention takes the row boundaries (cu_seq_lens) as they are. Elsewhere rows of
similar length form a block, are padded at their end inside attention only, and one causal
scaled_dot_product_attention serves the block: a real query never looks beyond itself, so it never
sees the padding.
Shape suffixes: T packed tokens, B rows of a block, L longest row of it, H heads, D head width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from transformers import AttentionInterface

PACKED_SDPA = "mgpo_packed_sdpa"
"""Name of this attention in transformers' registry."""
_MAX_PADDING = 1.2
"""A block holds at most this many padded positions per real token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Consecutive rows that attend in one call."""

    start: int
    num_rows: int
    max_len: int
    num_tokens: int
    gather_BL: torch.Tensor | None
    """Index of each padded position inside the block's tokens; None: nothing is padded."""
    scatter_T: torch.Tensor | None
    """Index of each of the block's tokens inside B x L."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionLayout:
    """Row boundaries of a packed batch, in both forms that attention needs."""

    cu_seq_lens: torch.Tensor
    max_len: int
    blocks: tuple[Block, ...]

    def to(self, device: torch.device) -> "AttentionLayout":
        """Move the index tensors to a device."""
        blocks = tuple(
            block
            if block.gather_BL is None or block.scatter_T is None
            else replace(
                block, gather_BL=block.gather_BL.to(device), scatter_T=block.scatter_T.to(device)
            )
            for block in self.blocks
        )
        return replace(self, cu_seq_lens=self.cu_seq_lens.to(device), blocks=blocks)


def plan_attention(lengths: Sequence[int]) -> AttentionLayout:
    """Cut consecutive rows into blocks with little padding; rows sorted by length need the
    fewest."""
    runs: list[list[int]] = []
    for length in lengths:
        if runs and _padding([*runs[-1], length]) <= _MAX_PADDING:
            runs[-1].append(length)
        else:
            runs.append([length])
    starts = torch.tensor([0, *lengths]).cumsum(0)
    blocks, row = [], 0
    for run in runs:
        blocks.append(_block(int(starts[row]), run))
        row += len(run)
    return AttentionLayout(
        cu_seq_lens=starts.to(torch.int32), max_len=max(lengths), blocks=tuple(blocks)
    )


def _padding(run: Sequence[int]) -> float:
    return max(run) * len(run) / sum(run)


def _block(start: int, run: Sequence[int]) -> Block:
    gather = scatter = None
    max_len = max(run)
    if min(run) < max_len:
        lens_B1 = torch.tensor(run)[:, None]
        first_B1 = lens_B1.cumsum(0) - lens_B1
        offset_1L = torch.arange(max_len)[None]
        gather = (first_B1 + torch.minimum(offset_1L, lens_B1 - 1)).flatten()
        scatter = (offset_1L < lens_B1).flatten().nonzero().flatten()
    return Block(
        start=start,
        num_rows=len(run),
        max_len=max_len,
        num_tokens=sum(run),
        gather_BL=gather,
        scatter_T=scatter,
    )


def packed_sdpa(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    layout: AttentionLayout | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend inside each row; the signature is that of transformers' attention functions.

    query (1, H, T, D), key and value (1, fewer heads, T, D); returns (1, T, H, D).
    """
    assert layout is not None, "packed attention needs the layout of the batch"
    outputs = []
    for block in layout.blocks:
        end = block.start + block.num_tokens
        q, k, v = (_rows(x[0, :, block.start : end], block) for x in (query, key, value))
        out_BHLD = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
        )
        out_THD = out_BHLD.transpose(1, 2).flatten(0, 1)
        if block.scatter_T is not None:
            out_THD = out_THD.index_select(0, block.scatter_T)
        outputs.append(out_THD)
    return torch.cat(outputs)[None], None


def _rows(x_HTD: torch.Tensor, block: Block) -> torch.Tensor:
    """Bring a block's tokens into (B, H, L, D)."""
    if block.gather_BL is not None:
        x_HTD = x_HTD.index_select(1, block.gather_BL)
    return x_HTD.unflatten(1, (block.num_rows, block.max_len)).transpose(0, 1)


AttentionInterface.register(PACKED_SDPA, packed_sdpa)
