"""Batched, cached decoding of whole groups on a transformers model.

Shape suffixes: B live rows, R requests, L positions, V vocabulary.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from transformers import PreTrainedModel

from mgpo.rollout.engine import GenerationRequest
from mgpo.rollout.kv_cache import GrowingCache
from mgpo.rollout.sampling_math import sample_tokens, uniforms
from mgpo.types import FinishReason

_COMPACT_BELOW = 0.8
"""Finished rows leave the batch once less than this share of it is alive."""


@dataclass(slots=True)
class DecodedRow:
    """One completion while it grows."""

    request_index: int
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason | None = None


Batch = list[tuple[int, GenerationRequest]]
"""Index into a dispatch, and that request or a part of its seeds."""


def split_into_batches(requests: Sequence[GenerationRequest], max_rows: int) -> Iterator[Batch]:
    """Cut a dispatch into consecutive batches of at most `max_rows` rows and one SamplingParams."""
    batch: Batch = []
    num_rows = 0
    for index, request in enumerate(requests):
        for first in range(0, len(request.seeds), max_rows):
            part = replace(request, seeds=request.seeds[first : first + max_rows])
            is_full = num_rows + len(part.seeds) > max_rows
            if batch and (is_full or part.sampling != batch[0][1].sampling):
                yield batch
                batch, num_rows = [], 0
            batch.append((index, part))
            num_rows += len(part.seeds)
    if batch:
        yield batch


class Decoder:
    """Decodes batches of requests with one model."""

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        vocab_size: int,
        stop_token_ids: Sequence[int],
    ) -> None:
        self._model = model
        self._vocab_size = vocab_size
        self._stops = torch.tensor(sorted(stop_token_ids), device=model.device)
        # transformers renamed the argument within its fifth major version.
        names = inspect.signature(model.base_model.forward).parameters
        self._cache_argument = "cache" if "cache" in names else "past_key_values"

    @torch.inference_mode()
    def decode(
        self, requests: Sequence[GenerationRequest], is_aborted: Callable[[], bool]
    ) -> Iterator[tuple[int, list[DecodedRow]]]:
        """Yield (request index, its rows) as groups finish; requests share one SamplingParams.

        After an abort the unfinished groups come with the finish reason `abort`.
        """
        sampling = requests[0].sampling
        device = self._model.device
        rows = [DecodedRow(i) for i, request in enumerate(requests) for _ in request.seeds]
        seeds_B = torch.tensor(
            [seed for request in requests for seed in request.seeds], device=device
        )
        unfinished = [len(request.seeds) for request in requests]
        live = list(range(len(rows)))
        cache = GrowingCache()
        logits_BV, mask_BL, next_position_B = self._prefill(requests, cache)
        for position in range(sampling.max_completion_tokens):
            ids_B, logprobs_B = sample_tokens(logits_BV, uniforms(seeds_B, position), sampling)
            is_stop_B = torch.isin(ids_B, self._stops)
            done = self._append(
                rows, live, ids_B, logprobs_B, is_stop_B, sampling.max_completion_tokens
            )
            if is_aborted():
                break
            for request_index in done:
                unfinished[request_index] -= 1
                if unfinished[request_index] == 0:
                    yield request_index, [r for r in rows if r.request_index == request_index]
            live = [row if row >= 0 and rows[row].finish_reason is None else -1 for row in live]
            kept = [slot for slot, row in enumerate(live) if row >= 0]
            if not kept:
                return
            if len(kept) < _COMPACT_BELOW * len(live):
                kept_B = torch.tensor(kept, device=device)
                live = [live[slot] for slot in kept]
                ids_B, seeds_B, next_position_B, mask_BL = (
                    x.index_select(0, kept_B) for x in (ids_B, seeds_B, next_position_B, mask_BL)
                )
                cache.select(kept_B)
            mask_BL = torch.cat([mask_BL, mask_BL.new_ones(len(live), 1)], dim=1)
            logits_BV = self._forward(
                ids_B[:, None], next_position_B[:, None], mask_BL[:, None, None], cache
            )
            next_position_B = next_position_B + 1
        for index, count in enumerate(unfinished):
            if count:
                group = [row for row in rows if row.request_index == index]
                for row in group:
                    row.finish_reason = row.finish_reason or "abort"
                yield index, group

    def _prefill(
        self, requests: Sequence[GenerationRequest], cache: GrowingCache
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Run each prompt once, then repeat its logits, mask and cache for every sample."""
        device = self._model.device
        lengths_R = torch.tensor([len(request.prompt_token_ids) for request in requests])
        longest = int(lengths_R.max())
        # Padding is masked out, so any id will do.
        ids_RL = torch.zeros(len(requests), longest, dtype=torch.int64)
        for row, request in enumerate(requests):
            ids_RL[row, longest - len(request.prompt_token_ids) :] = torch.tensor(
                request.prompt_token_ids
            )
        columns_L = torch.arange(longest)
        mask_RL = columns_L >= (longest - lengths_R)[:, None]
        positions_RL = (columns_L - (longest - lengths_R)[:, None]).clamp(min=0)
        causal_LL = columns_L[:, None] >= columns_L
        # A padded query attends to itself, so that no row of the softmax is empty.
        full_mask = (mask_RL[:, None, :] & causal_LL) | torch.eye(longest, dtype=torch.bool)
        logits_RV = self._forward(
            ids_RL.to(device), positions_RL.to(device), full_mask[:, None].to(device), cache
        )
        repeats = torch.tensor([len(request.seeds) for request in requests])
        owner_B = torch.arange(len(requests)).repeat_interleave(repeats).to(device)
        cache.select(owner_B)
        return (
            logits_RV.index_select(0, owner_B),
            mask_RL.to(device).index_select(0, owner_B),
            lengths_R.to(device).index_select(0, owner_B),
        )

    def _forward(
        self,
        ids_BQ: torch.Tensor,
        positions_BQ: torch.Tensor,
        mask_B1QL: torch.Tensor,
        cache: GrowingCache,
    ) -> torch.Tensor:
        """Return the logits of the last position over the sampleable ids."""
        hidden_BQD = self._model.base_model(
            input_ids=ids_BQ,
            position_ids=positions_BQ,
            attention_mask=mask_B1QL,
            use_cache=True,
            **{self._cache_argument: cache},
        ).last_hidden_state
        cache.advance(ids_BQ.shape[1])
        weight_VD = self._model.get_output_embeddings().weight[: self._vocab_size]
        return hidden_BQD[:, -1] @ weight_VD.T

    def _append(
        self,
        rows: list[DecodedRow],
        live: Sequence[int],
        ids_B: torch.Tensor,
        logprobs_B: torch.Tensor,
        is_stop_B: torch.Tensor,
        max_tokens: int,
    ) -> list[int]:
        """Add one token to every live row; return the request of each row that finished."""
        if not bool(torch.isfinite(logprobs_B).all()):
            raise RuntimeError("the engine computed a log-probability that is not finite")
        done = []
        for row_index, token, logprob, is_stop in zip(
            live, ids_B.tolist(), logprobs_B.tolist(), is_stop_B.tolist(), strict=True
        ):
            if row_index < 0:
                continue
            row = rows[row_index]
            row.token_ids.append(token)
            row.logprobs.append(min(logprob, 0.0))
            if is_stop:
                row.finish_reason = "stop"
            elif len(row.token_ids) == max_tokens:
                row.finish_reason = "length"
            if row.finish_reason:
                done.append(row.request_index)
        return done
