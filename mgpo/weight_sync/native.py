"""The learner's side of vLLM's weight transfer between GPUs: nccl across devices, ipc on one.

Runs in the learner's ranks. Rank 0 drives the engines through Ray; the others take part in
gathering the sharded weights.
"""

import logging
import math
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import ray
import torch

from mgpo.weight_sync.digest import tensor_digest
from mgpo.weight_sync.types import NativeTransfer

if TYPE_CHECKING:
    from vllm.distributed.weight_transfer.base import ParamMeta

logger = logging.getLogger(__name__)


class ShardedModel(Protocol):
    """What is sent: a model that can say and gather its weights."""

    def tensor_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Name and whole shape of each weight, in the order of `named_full_tensors`."""

    def named_full_tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Gather one whole weight after the other; a collective on every rank."""


class NativeSender:
    """Keeps the connection to a set of engines and sends them all weights, chunk by chunk."""

    def __init__(self, model: ShardedModel, dtype: torch.dtype, rank: int) -> None:
        self._model = model
        self._dtype = dtype
        self._rank = rank
        self._connected: NativeTransfer | None = None
        self._trainer: Any = None

    def send(self, transfer: NativeTransfer) -> tuple[dict[str, str], int]:
        """Send the weights to the engines of `transfer`; return their digests and bytes.

        Called on every rank; only rank 0's result counts. If the engines or the network do not
        answer in time, this process ends: a collective that waits on a dead peer cannot be
        interrupted in any other way.
        """
        with _deadline(transfer):
            if self._connected != transfer:
                self._connect(transfer)
            self._trainer.send_weights()
        return self._source.digests, self._source.num_bytes

    def _connect(self, transfer: NativeTransfer) -> None:
        from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory

        if self._trainer is not None:
            self._trainer.shutdown()
        self._source = _make_source(self._model, self._dtype, digests_wanted=self._rank == 0)
        self._trainer = WeightTransferTrainerFactory.trainer_init(
            self._init_info(transfer), client=_Engines(transfer), source=self._source
        )
        self._connected = transfer

    def _init_info(self, transfer: NativeTransfer) -> Any:
        from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo
        from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo

        if transfer.backend == "ipc":
            # Unlike nccl's, its chunks have one fixed size, which the largest tensor must fit.
            largest = max(math.prod(shape) for _, shape in self._model.tensor_shapes())
            return IPCTrainerInitInfo(
                rank=self._rank,
                packed=True,
                packed_buffer_size_bytes=max(transfer.chunk_bytes, largest * self._dtype.itemsize),
            )
        return NCCLTrainerInitInfo(
            rank=self._rank,
            master_address=ray.util.get_node_ip_address(),
            master_port=_free_port(),
            world_size=1 + len(transfer.engines) * transfer.gpus_per_engine,
            packed=True,
            packed_buffer_size_bytes=transfer.chunk_bytes,
        )


def _make_source(model: ShardedModel, dtype: torch.dtype, *, digests_wanted: bool) -> Any:
    """Return a `WeightSource` of vLLM; its base class exists only where vLLM does."""
    from vllm.distributed.weight_transfer.base import ParamMeta, WeightSource

    class LearnerSource(WeightSource):
        """The learner's weights in the compute type, digested on their way."""

        def __init__(self) -> None:
            self.digests: dict[str, str] = {}
            self.num_bytes = 0

        def metadata(self) -> "list[ParamMeta]":
            return [ParamMeta(name, dtype, shape) for name, shape in model.tensor_shapes()]

        def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
            self.digests, self.num_bytes = {}, 0
            for name, tensor in model.named_full_tensors():
                weight = tensor.to(dtype).contiguous()
                if digests_wanted:
                    self.digests[name] = tensor_digest(weight)
                self.num_bytes += weight.numel() * weight.element_size()
                yield name, weight

    return LearnerSource()


class _Engines:
    """vLLM's control calls (`VLLMWeightSyncClient`) to all engines at once, with a deadline."""

    def __init__(self, transfer: NativeTransfer) -> None:
        self._transfer = transfer

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """Tell each engine how to connect; in an nccl group every GPU has a rank of its own."""
        size = self._transfer.gpus_per_engine
        infos = [
            {**init_info, "rank_offset": init_info["rank_offset"] + index * size}
            if "rank_offset" in init_info
            else init_info
            for index in range(len(self._transfer.engines))
        ]
        self._call("init_weight_transfer_engine", infos)

    def start_weight_update(self) -> None:
        """Open an update."""
        self._call("start_weight_update", None)

    def update_weights(self, update_info: Any) -> None:
        """Let every engine take a chunk."""
        self._call("update_weights", [update_info] * len(self._transfer.engines))

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Close the update."""
        self._call("finish_weight_update", None)

    def _call(self, method: str, payloads: Sequence[Any] | None) -> None:
        calls = [
            engine.transfer.remote(method, payloads[index] if payloads is not None else None)
            for index, engine in enumerate(self._transfer.engines)
        ]
        try:
            ray.get(calls, timeout=self._transfer.timeout_s)
        except ray.exceptions.RayActorError as error:
            raise RuntimeError(
                f"weight push: a rollout engine died during {method}; its log in Ray's session "
                "folder says why. Start the same command again to resume from the newest checkpoint"
            ) from error


@contextmanager
def _deadline(transfer: NativeTransfer) -> Iterator[None]:
    """End this process if the block takes longer than the transfer may."""

    def give_up() -> None:
        logger.error(
            "weight push by %s: not done after %.0f s (weight_sync.timeout_s); ending this rank",
            transfer.backend,
            transfer.timeout_s,
        )
        os._exit(1)

    timer = threading.Timer(transfer.timeout_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("", 0))
        port: int = sock.getsockname()[1]
        return port
