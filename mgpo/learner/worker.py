"""One FSDP2 rank. Runs inside a Ray actor; knows nothing of groups or rewards."""

import contextlib
import logging
import resource
import socket
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import ray
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule

from mgpo.algorithm.reductions import Reductions, merge_all
from mgpo.data.model_files import load_model_config
from mgpo.learner.batch import pack_rows
from mgpo.learner.head import chunk_tokens_from_budget
from mgpo.learner.model import PolicyModel, load_causal_lm, shard
from mgpo.learner.objectives import OBJECTIVES
from mgpo.learner.optimizer import Optimizer, UpdateReport
from mgpo.learner.reference import ReferenceModel
from mgpo.learner.rows import TrainingRow
from mgpo.learner.setup import LearnerSetup
from mgpo.tracking.code_version import CodeVersion, code_version
from mgpo.weight_sync.native import NativeSender
from mgpo.weight_sync.shared_memory import write_weights
from mgpo.weight_sync.types import NativeTransfer, WeightManifest

logger = logging.getLogger(__name__)

Microbatch = list[TrainingRow]


class LearnerWorker:
    """Holds a shard of the fp32 masters and of the optimizer state."""

    def __init__(self, setup: LearnerSetup) -> None:
        self._setup = setup
        self._device = (
            torch.device(setup.device, 0) if setup.device == "cuda" else torch.device("cpu")
        )
        self._dtype: torch.dtype = getattr(torch, setup.dtype)
        torch.set_num_threads(setup.num_threads)

    def code_version(self) -> CodeVersion:
        """Return which code this rank runs."""
        return code_version()

    def address(self) -> tuple[str, int]:
        """Return this host's address and a free port, for the ranks to meet."""
        with socket.socket() as sock:
            sock.bind(("", 0))
            return ray.util.get_node_ip_address(), sock.getsockname()[1]

    def start(self, rank: int, num_ranks: int, address: tuple[str, int]) -> int:
        """Join the other ranks, load and shard the model; return its number of parameters."""
        setup = self._setup
        if self._device.type == "cuda":
            torch.cuda.set_device(self._device)
        dist.init_process_group(
            "nccl" if self._device.type == "cuda" else "gloo",
            init_method=f"tcp://{address[0]}:{address[1]}",
            rank=rank,
            world_size=num_ranks,
            timeout=timedelta(seconds=setup.learner.timeout_s),
        )
        causal_lm = load_causal_lm(setup.model_source, self._device, self._dtype, rope=setup.rope)
        chunk = setup.learner.head_chunk_tokens or chunk_tokens_from_budget(
            setup.vocab_size, setup.learner.head_chunk_mib
        )
        mesh = init_device_mesh(self._device.type, (num_ranks,))
        self._model = shard(
            PolicyModel(causal_lm, setup.vocab_size, chunk),
            mesh,
            self._dtype,
            activation_checkpointing=setup.learner.activation_checkpointing,
        )
        self._reference = (
            ReferenceModel(setup, mesh, self._device, self._dtype, chunk)
            if setup.algorithm.kl_coef
            else None
        )
        self._optimizer = Optimizer(self._model.parameters(), setup.learner)
        self._is_first = rank == 0
        self._sender = NativeSender(self._model, self._dtype, rank)
        return sum(parameter.numel() for parameter in causal_lm.parameters())

    def update(
        self, microbatches: Sequence[Microbatch], objective: str, denominator: float, lr: float
    ) -> tuple[UpdateReport, Reductions]:
        """Accumulate the gradients of all micro-batches and make one optimizer update.

        Every rank must be given the same number of micro-batches. `denominator` is the one of the
        whole batch, over all ranks.
        """
        metrics = self.accumulate(microbatches, objective, denominator)
        report = self._optimizer.step(denominator, lr)
        self._give_memory_back()
        return report, metrics

    def accumulate(
        self, microbatches: Sequence[Microbatch], objective: str, denominator: float
    ) -> Reductions:
        """Add the un-normalised gradients of all micro-batches to the parameters' `grad`."""
        loss_of = OBJECTIVES[objective]
        parts: list[Reductions] = []
        for rows in microbatches:
            batch = pack_rows(rows).to(self._device)
            if self._reference is not None:
                batch = batch.with_reference(self._reference.logprobs(batch))
            logprobs_N, entropy_N = self._model(batch, self._setup.temperature)
            loss, metrics = loss_of(
                batch, logprobs_N, entropy_N, self._setup.algorithm, denominator
            )
            loss.backward()
            parts.append(metrics)
        return merge_all(parts)

    @torch.no_grad()
    def logprobs(self, microbatches: Sequence[Microbatch]) -> list[list[list[float]]]:
        """Return the current log-probabilities of each row's trained tokens, by micro-batch."""
        result = []
        for rows in microbatches:
            batch = pack_rows(rows).to(self._device)
            logprobs_N, _ = self._model(batch, self._setup.temperature)
            by_row = logprobs_N.split([row.num_trained_tokens for row in rows]) if rows else ()
            result.append([part.tolist() for part in by_row])
        # Without a backward pass the root would stay whole, and later calls would see its old
        # values.
        assert isinstance(self._model, FSDPModule)
        self._model.reshard()
        self._give_memory_back()
        return result

    def _give_memory_back(self) -> None:
        if self._setup.shares_device:
            torch.cuda.empty_cache()

    def export_weights(
        self, directory: Path, policy_version: int, bucket_bytes: int
    ) -> WeightManifest | None:
        """Write all weights in the compute type for the engines; rank 0 writes, all ranks
        gather."""
        tensors = (
            (name, tensor.to(self._dtype)) for name, tensor in self._model.named_full_tensors()
        )
        if self._is_first:
            return write_weights(tensors, policy_version, directory, bucket_bytes)
        for _ in tensors:
            pass
        return None

    def send_weights(self, transfer: NativeTransfer) -> tuple[dict[str, str], int]:
        """Send all weights to engines on GPUs; rank 0 returns digests and bytes of what it sent."""
        sent = self._sender.send(transfer)
        self._give_memory_back()
        return sent

    def save(self, directory: Path) -> None:
        """Write this rank's part of model and optimizer state."""
        model_state, optimizer_state = get_state_dict(self._model, self._optimizer.adamw)
        dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=directory)

    def load(self, directory: Path) -> None:
        """Restore what `save` wrote, also under another number of ranks."""
        model_state, optimizer_state = get_state_dict(self._model, self._optimizer.adamw)
        state: dict[str, Any] = {"model": model_state, "optimizer": optimizer_state}
        dcp.load(state, checkpoint_id=directory)
        set_state_dict(
            self._model,
            self._optimizer.adamw,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self._optimizer.apply_config()

    def export_model(self, directory: Path) -> None:
        """Write the model in Hugging Face format with its tokenizer; rank 0 writes."""
        state = {
            name: tensor.to(self._dtype).cpu() if self._is_first else None
            for name, tensor in self._model.named_full_tensors()
        }
        if self._is_first:
            from transformers import (
                AutoModelForCausalLM,
                AutoTokenizer,
                GenerationConfig,
            )

            source = self._setup.model_source
            config = load_model_config(source, self._setup.rope)
            config.dtype = self._dtype
            with torch.device("meta"):
                skeleton = AutoModelForCausalLM.from_config(config, dtype=self._dtype)
            missing = skeleton.load_state_dict(state, strict=False, assign=True).missing_keys
            assert set(missing) <= set(skeleton.all_tied_weights_keys), f"no weights for {missing}"
            skeleton.tie_weights()
            skeleton.save_pretrained(directory)
            AutoTokenizer.from_pretrained(source).save_pretrained(directory)
            # It names further stop ids, which engines and evaluations read.
            with contextlib.suppress(OSError):
                GenerationConfig.from_pretrained(source).save_pretrained(directory)

    def rss_mib(self) -> float:
        """Peak resident memory of this process."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
