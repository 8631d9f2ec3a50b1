"""The padding-free micro-batches that the model is run on.

Shape suffixes: T tokens of a packed micro-batch, N trained tokens in it, S samples in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from mgpo.learner.attention import AttentionLayout, plan_attention
from mgpo.learner.rows import TrainingRow

_FILLER = (0, 0)
"""Tokens of a micro-batch that has no row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedBatch:
    """A micro-batch without padding: rows one after the other."""

    input_ids_T: torch.Tensor
    position_ids_T: torch.Tensor
    layout: AttentionLayout
    """Where each row starts and ends, for attention."""
    predictor_N: torch.Tensor
    """Index into T of the token whose hidden state predicts each trained token."""
    targets_N: torch.Tensor
    sample_index_N: torch.Tensor
    """Row of each trained token."""
    rollout_logprobs_N: torch.Tensor
    old_logprobs_N: torch.Tensor | None
    advantages_N: torch.Tensor
    num_trained_S: torch.Tensor
    ref_logprobs_N: torch.Tensor | None = None
    """Of the frozen reference, which `with_reference` adds on the ranks that hold one."""

    def with_reference(self, ref_logprobs_N: torch.Tensor) -> "PackedBatch":
        """Return the batch with the reference's log-probabilities of the trained tokens."""
        return replace(self, ref_logprobs_N=ref_logprobs_N)

    def to(self, device: torch.device) -> "PackedBatch":
        """Move every tensor to a device."""
        moved = {
            name: value.to(device, non_blocking=True)
            for name in self.__slots__
            if isinstance(value := getattr(self, name), torch.Tensor)
        }
        return replace(self, layout=self.layout.to(device), **moved)


def pack_rows(rows: Sequence[TrainingRow]) -> PackedBatch:
    """Concatenate rows into one micro-batch.

    Without rows the batch holds two filler tokens and trains none of them: a rank that has nothing
    left still takes part in the collectives.
    """
    token_ids = [row.token_ids for row in rows] or [_FILLER]
    lengths = [len(ids) for ids in token_ids]
    predictors, targets, owners, rollout, old, advantages = [], [], [], [], [], []
    start = 0
    for index, row in enumerate(rows):
        if row.num_trained_tokens:
            first = start + row.prompt_len - 1
            predictors.append(torch.arange(first, first + row.num_trained_tokens))
            targets.append(torch.tensor(row.token_ids[row.prompt_len :]))
            owners.append(torch.full((row.num_trained_tokens,), index))
            advantages.append(torch.full((row.num_trained_tokens,), row.advantage))
            rollout.append(torch.tensor(row.rollout_logprobs, dtype=torch.float32))
            if row.old_logprobs is not None:
                old.append(torch.tensor(row.old_logprobs, dtype=torch.float32))
        start += len(row.token_ids)
    return PackedBatch(
        input_ids_T=torch.cat([torch.tensor(ids) for ids in token_ids]),
        position_ids_T=torch.cat([torch.arange(length) for length in lengths]),
        layout=plan_attention(lengths),
        predictor_N=_joined(predictors, torch.int64),
        targets_N=_joined(targets, torch.int64),
        sample_index_N=_joined(owners, torch.int64),
        rollout_logprobs_N=_joined(rollout, torch.float32),
        old_logprobs_N=_joined(old, torch.float32) if old else None,
        advantages_N=_joined(advantages, torch.float32),
        num_trained_S=torch.tensor([row.num_trained_tokens for row in rows], dtype=torch.int64),
    )


def _joined(parts: list[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    return torch.cat(parts).to(dtype) if parts else torch.empty(0, dtype=dtype)
