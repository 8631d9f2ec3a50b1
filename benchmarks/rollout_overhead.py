"""Tokens per second of the rollout pool over those of its bare engine, on the same prompts.

python benchmarks/rollout_overhead.py [--engine hf|vllm] [--model PATH] [--in-flight N ...]

Both sides have the same engine arguments, threads, environment and priority, hold N samples in
flight, and run one after the other, alternating. The figure is the median over the runs of
pool / engine, each run against the one next to it, so that other load on the machine hits both.
Without --model, a random Qwen2 of 0.8 million parameters is used.

`hf`: the bare side is the engine object in this process, given one dispatch after the other.

`vllm`: the bare side is a plain AsyncLLM, started by this process as vLLM's own, that is given all
requests at once; `max_num_seqs` keeps N of them in flight. No stop id is set and the model's own
is ignored, so every completion has --new-tokens tokens on both sides. The pool also decodes text,
collects log-probabilities and masks ids past the tokenizer; the bare side does not.
"""

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import torch
from parts import Model, report_ratio, rest, settle_environment, start_rollouts

from mgpo.cluster import Placement, start_cluster
from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import EngineSetup, GenerationRequest, SamplingParams
from mgpo.rollout.hf_engine import HfEngine
from mgpo.rollout.pool import RolloutPool
from mgpo.rollout.vllm_engine import VllmEngine, vllm_environment

GOAL = 0.95
SMALLEST_PROMPT_ID = 5
IN_FLIGHT = {"hf": [256], "vllm": [64, 128]}


def main() -> int:
    """Prints both sides and their ratio; exit code 1 if it misses the goal."""
    args = _parse_args()
    settle_environment()
    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, start_cluster("cpu") as cluster:
        model = Model.open(args.model, args.dtype, Path(folder))
        placement = Placement.plan(cluster, num_ranks=1, num_engines=1)
        torch.set_num_threads(placement.rollout_threads)
        reached = [
            _measure(args, model, placement, in_flight)
            for in_flight in args.in_flight or IN_FLIGHT[args.engine]
        ]
    return 0 if all(reached) else 1


def _measure(args: argparse.Namespace, model: Model, placement: Placement, in_flight: int) -> bool:
    config = RolloutConfig(
        group_size=args.group_size,
        max_completion_tokens=args.new_tokens,
        max_batch_samples=in_flight,
        cpu_kv_cache_gib=args.cpu_kv_cache_gib,
    )
    stop_ids = (model.tokenizer.eos_token_id,) if args.engine == "hf" else ()
    setup = model.engine_setup(config, stop_ids)
    requests = _requests(args)
    with ExitStack() as stack:
        pool = start_rollouts(stack, placement, args.engine, config, setup)
        bare = bare_engine(args.engine, setup, placement.rollout_threads)
        stack.callback(bare.close)
        sides: dict[str, _Side] = {"engine": bare, "pool": _PoolSide(pool)}
        counts = {name: side.generate(requests) for name, side in sides.items()}  # the warm-up
        if counts["engine"] != counts["pool"]:
            raise RuntimeError(f"both sides must sample the same number of tokens, got {counts}")
        speeds: dict[str, list[float]] = {name: [] for name in sides}
        for run in range(args.runs):
            # First the one, then the other goes first.
            for name, side in list(sides.items())[:: -1 if run % 2 else 1]:
                rest()
                started = time.perf_counter()
                num_tokens = side.generate(requests)
                speeds[name].append(num_tokens / (time.perf_counter() - started))
    return _report(args.engine, in_flight, speeds)


def _report(engine: str, in_flight: int, speeds: dict[str, list[float]]) -> bool:
    print(f"{engine}, {in_flight} in flight")
    for name, values in speeds.items():
        runs = "".join(f"{value:9,.0f}" for value in values)
        print(f"{name:7s} median {statistics.median(values):9,.0f} tokens/s   runs{runs}")
    ratios = [pool / engine for pool, engine in zip(speeds["pool"], speeds["engine"], strict=True)]
    return report_ratio("pool / engine", ratios, GOAL)


class _Side(Protocol):
    def generate(self, requests: Sequence[GenerationRequest]) -> int:
        """Answer all requests; return the number of sampled tokens."""

    def close(self) -> None:
        """End what was started."""


class _PoolSide:
    """The pool, which `start_rollouts` closes."""

    def __init__(self, pool: RolloutPool) -> None:
        self._pool = pool

    def generate(self, requests: Sequence[GenerationRequest]) -> int:
        return _num_tokens(done for _, done in self._pool.generate(requests))

    def close(self) -> None:
        """Nothing to do."""


class BareHf:
    """The `hf` engine without pool or actor."""

    def __init__(self, setup: EngineSetup) -> None:
        self._engine = HfEngine(setup)
        asyncio.run(self._engine.start())

    def generate(self, requests: Sequence[GenerationRequest]) -> int:
        """Feed the engine as its limits say, one dispatch after the other."""
        return asyncio.run(self._generate(requests))

    async def _generate(self, requests: Sequence[GenerationRequest]) -> int:
        size = self._engine.limits(len(requests[0].seeds)).requests_per_dispatch
        num_tokens = 0
        for first in range(0, len(requests), size):
            stream = self._engine.generate(str(first), requests[first : first + size])
            num_tokens += _num_tokens([done async for _, done in stream])
        return num_tokens

    def close(self) -> None:
        """End its thread."""
        asyncio.run(self._engine.close())


class BareVllm:
    """vLLM as anyone would use it, with the arguments and environment that our engine gives it."""

    def __init__(self, setup: EngineSetup, num_threads: int) -> None:
        os.environ.update(vllm_environment("cpu"), OMP_NUM_THREADS=str(num_threads))
        # Only now: vLLM reads its environment when it is imported.
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        self._ours = VllmEngine(setup)  # not started: it says what vLLM is given
        self._names = count()
        # One loop for all runs: vLLM's client is bound to it, and rests while it does not run.
        self._runner = asyncio.Runner()

        async def start() -> AsyncLLM:
            return AsyncLLM.from_engine_args(AsyncEngineArgs(**self._ours.engine_arguments()))

        self._llm = self._runner.run(start())

    def generate(self, requests: Sequence[GenerationRequest]) -> int:
        """Hand over all samples at once."""
        return self._runner.run(self._generate(requests))

    async def _generate(self, requests: Sequence[GenerationRequest]) -> int:
        samples = [self._sample(request, seed) for request in requests for seed in request.seeds]
        return sum(await asyncio.gather(*samples))

    async def _sample(self, request: GenerationRequest, seed: int) -> int:
        from vllm import TokensPrompt

        prompt = TokensPrompt(prompt_token_ids=list(request.prompt_token_ids))
        sampling = self._ours.sampling_params(request, seed)
        outputs = self._llm.generate(prompt, sampling, str(next(self._names)))
        final = [output async for output in outputs]
        return len(final[-1].outputs[0].token_ids)

    def close(self) -> None:
        """End vLLM's processes."""
        self._llm.shutdown()
        self._runner.close()
        del self._llm  # its finalizer must not wait for the interpreter's end


def bare_engine(engine: str, setup: EngineSetup, num_threads: int) -> BareHf | BareVllm:
    """Start `hf` or `vllm` without pool or actor."""
    if engine == "vllm":
        return BareVllm(setup, num_threads)
    return BareHf(setup)


def _num_tokens(groups: Any) -> int:
    return sum(len(completion.token_ids) for group in groups for completion in group)


def _requests(args: argparse.Namespace) -> list[GenerationRequest]:
    """Prompts of random ids, a quarter shorter or longer than --prompt-tokens."""
    generator = torch.Generator().manual_seed(0)
    shortest, longest = args.prompt_tokens * 3 // 4, args.prompt_tokens * 5 // 4
    sampling = SamplingParams(
        temperature=1.0, top_p=1.0, top_k=-1, min_p=0.0, max_completion_tokens=args.new_tokens
    )
    requests = []
    for index in range(args.prompts):
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        ids = torch.randint(SMALLEST_PROMPT_ID, 250, (length,), generator=generator)
        requests.append(
            GenerationRequest(
                prompt_id=f"p{index}",
                prompt_token_ids=tuple(ids.tolist()),
                seeds=tuple(args.group_size * index + sample for sample in range(args.group_size)),
                sampling=sampling,
            )
        )
    return requests


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("hf", "vllm"), default="hf")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--group-size", type=int, default=16)
    parser.add_argument("--prompt-tokens", type=int, default=40, help="on average")
    parser.add_argument("--new-tokens", type=int, default=100, help="at most, per completion")
    parser.add_argument(
        "--in-flight", type=int, nargs="+", help="samples; default 256 (hf), 64 and 128 (vllm)"
    )
    parser.add_argument("--dtype", default="float32", help="of the engines")
    parser.add_argument("--cpu-kv-cache-gib", type=float, default=1.0, help="of each vLLM engine")
    parser.add_argument("--runs", type=int, default=9, help="of each side")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
