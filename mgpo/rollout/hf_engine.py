"""The `hf` engine: batched, cached generation on a transformers model, one batch at a time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from mgpo.data.model_files import load_model_config
from mgpo.rollout.completions import check_fits, decode_texts
from mgpo.rollout.decoding import DecodedRow, Decoder, split_into_batches
from mgpo.rollout.engine import EngineLimits, EngineSetup, GenerationRequest
from mgpo.rollout.kv_cache import ENGINE_SDPA
from mgpo.types import Completion
from mgpo.weight_sync.digest import tensor_digest
from mgpo.weight_sync.shared_memory import read_bucket
from mgpo.weight_sync.types import LoadReport, WeightManifest

logger = logging.getLogger(__name__)

Finished = tuple[int, tuple[Completion, ...]]


class HfEngine:
    """Implements `Engine` on AutoModelForCausalLM. Deterministic: same dispatch, same
    completions."""

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._device = torch.device(setup.device)
        self._policy_version = 0
        self._running: set[str] = set()
        self._aborted: set[str] = set()
        # One thread: the model computes one batch at a time, the event loop stays free.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decode")

    async def start(self) -> None:
        """Load model and tokenizer."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._load)

    def _load(self) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(self._setup.model_path)
        config = load_model_config(self._setup.model_path, self._setup.rope)
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            self._setup.model_path,
            config=config,
            dtype=getattr(torch, self._setup.dtype),
            attn_implementation=ENGINE_SDPA,
        )
        self._model = torch.nn.Module.to(model, self._device).eval()
        self._max_model_len = self._setup.config.max_model_len or config.max_position_embeddings
        self._decoder = Decoder(
            self._model,
            vocab_size=self._setup.vocab_size,
            stop_token_ids=sorted(self._setup.stop_token_ids),
        )

    def limits(self, group_size: int) -> EngineLimits:
        """As many whole groups as fit into a batch, one batch at a time."""
        fitting = max(1, self._setup.config.max_batch_samples // group_size)
        return EngineLimits(requests_per_dispatch=fitting, max_dispatches=1)

    async def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[Finished]:
        """Yield groups as they finish. Raises ValueError if the context can't hold a prompt."""
        for request in requests:
            check_fits(request, self._max_model_len)
        self._running.add(dispatch_id)
        loop = asyncio.get_running_loop()
        finished: asyncio.Queue[Finished | None] = asyncio.Queue()

        def run() -> None:
            try:
                for group in self._groups(requests, lambda: dispatch_id in self._aborted):
                    loop.call_soon_threadsafe(finished.put_nowait, group)
            finally:
                if self._setup.shares_device:
                    torch.cuda.empty_cache()
                loop.call_soon_threadsafe(finished.put_nowait, None)

        work = loop.run_in_executor(self._thread, run)
        try:
            while (item := await finished.get()) is not None:
                yield item
            await work
        finally:
            self._aborted.add(dispatch_id)
            await asyncio.wait([work])
            self._aborted.discard(dispatch_id)
            self._running.discard(dispatch_id)

    def _groups(
        self, requests: Sequence[GenerationRequest], is_aborted: Callable[[], bool]
    ) -> Iterator[Finished]:
        """Decode batch after batch; a group is finished with the last part of its seeds."""
        rows_of: list[list[DecodedRow]] = [[] for _ in requests]
        for batch in split_into_batches(requests, self._setup.config.max_batch_samples):
            parts = [part for _, part in batch]
            for position, rows in self._decoder.decode(parts, is_aborted):
                index = batch[position][0]
                rows_of[index] += rows
                if len(rows_of[index]) == len(requests[index].seeds):
                    yield index, self._completions(rows_of[index])

    def _completions(self, rows: Sequence[DecodedRow]) -> tuple[Completion, ...]:
        texts = decode_texts(self._tokenizer, [row.token_ids for row in rows])
        return tuple(map(self._completion, rows, texts))

    def _completion(self, row: DecodedRow, text: str) -> Completion:
        assert row.finish_reason is not None, "only finished rows are handed out"
        return Completion(
            token_ids=tuple(row.token_ids),
            rollout_logprobs=tuple(row.logprobs),
            finish_reason=row.finish_reason,
            policy_version=self._policy_version,
            text=text,
        )

    async def abort(self, dispatch_id: str) -> None:
        """Let a running dispatch stop at its next token."""
        if dispatch_id in self._running:
            self._aborted.add(dispatch_id)

    async def load_weights(self, manifest: WeightManifest) -> LoadReport:
        """Copy new weights into the live model and digest what it now computes with."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._take, manifest)

    @torch.no_grad()
    def _take(self, manifest: WeightManifest) -> LoadReport:
        parameters = dict(self._model.named_parameters())
        sent = manifest.digests.keys()
        if sent != parameters.keys():
            raise ValueError(
                f"policy version {manifest.policy_version} does not fit the engine's model: "
                f"missing {sorted(parameters.keys() - sent)[:5]}, "
                f"unknown {sorted(sent - parameters.keys())[:5]}"
            )
        for bucket in manifest.buckets:
            for record, tensor in read_bucket(bucket):
                target = parameters[record.name]
                if target.shape != tensor.shape:
                    raise ValueError(
                        f"{record.name} has shape {tuple(tensor.shape)}, "
                        f"the engine's has {tuple(target.shape)}"
                    )
                target.copy_(tensor)
        self._policy_version = manifest.policy_version
        return self._report()

    def _report(self) -> LoadReport:
        digests = {name: tensor_digest(value) for name, value in self._model.named_parameters()}
        return LoadReport(policy_version=self._policy_version, digests=digests)

    async def transfer(self, method: str, payload: Any) -> None:
        """Not implemented: this engine takes weights from shared memory."""
        raise NotImplementedError("the hf engine takes weights from shared memory only")

    async def confirm_weights(self, policy_version: int) -> LoadReport:
        """Not implemented: see `transfer`."""
        raise NotImplementedError("the hf engine takes weights from shared memory only")

    async def sleep(self) -> None:
        """Nothing to do: caches are given back after each dispatch."""

    async def close(self) -> None:
        """Stop the decoding thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
