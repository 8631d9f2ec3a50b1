"""Seconds of a full push of weights, and its rate over this machine's memory-copy rate.

python benchmarks/weight_push.py [--engine vllm|hf] [--model PATH] [--dtype float32] [--runs N]

A push is what a training step waits for: the learner (one rank) exports its weights into shared
memory with a digest of each tensor; the engine checks the bytes, loads them, and digests what it
now computes with (vLLM packs weights for the CPU: they are read back from the packed form); the
engine decodes the canaries, whose log-probs the learner reproduces. All of it is the toolkit's own
LearnerPool, RolloutPool, WeightSync and SharedMemoryTransport; only clocks are put between them.

The limit is one copy of the same number of bytes from memory to memory by torch, in this process,
with all cores and both sides' pages in place. Pushes and copies alternate. The figure is the median
over the runs of copy seconds / push seconds. The goal is a guard against a step back, not a claim:
a push reads and writes all weights several times.
"""

import argparse
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from parts import Model, report_ratio, rest, settle_environment, start_learner, start_rollouts

from mgpo.cluster import Placement, start_cluster
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.learner.pool import LearnerPool
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.sampling import canary_requests
from mgpo.weight_sync.push import WeightSync
from mgpo.weight_sync.transport import SentWeights, SharedMemoryTransport
from mgpo.weight_sync.types import LoadReport

GOAL = {"vllm": 0.012, "hf": 0.05}
MIB = 2**20


def main() -> int:
    """Prints seconds, parts and rates; exit code 1 if the share of the copy rate is too small."""
    args = _parse_args()
    settle_environment()
    logging.basicConfig(level=logging.WARNING)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_cluster("cpu") as cluster,
        ExitStack() as stack,
    ):
        placement = Placement.plan(cluster, num_ranks=1, num_engines=1)
        torch.set_num_threads(placement.learner_threads)
        model = Model.open(args.model, args.dtype, Path(folder))
        push = _Push(stack, args, model, placement, Path(folder))
        push.run()  # the warm-up
        copy = _Copy(push.num_bytes)
        pushes, copies = [], []
        for _ in range(args.runs):
            pushes.append(push.run())
            rest()
            copies.append(copy.run())
        return 0 if _report(args, push.num_bytes, pushes, copies) else 1


class _Push:
    """A learner, an engine and clocks between the parts of a push."""

    def __init__(
        self,
        stack: ExitStack,
        args: argparse.Namespace,
        model: Model,
        placement: Placement,
        folder: Path,
    ) -> None:
        config = RolloutConfig(max_batch_samples=8, cpu_kv_cache_gib=args.cpu_kv_cache_gib)
        sync = WeightSyncConfig()
        learner = start_learner(stack, placement, model, LearnerConfig())
        setup = model.engine_setup(config)
        rollouts = start_rollouts(stack, placement, args.engine, config, setup)
        self._clock = _Clock()
        transport = SharedMemoryTransport(sync, learner, folder, config.timeout_s)
        self._sync = WeightSync(
            sync,
            _TimedTransport(transport, self._clock),
            _TimedLearner(learner, self._clock),
            _TimedRollouts(rollouts, self._clock),
            canary_requests(model.prompts(sync.num_canaries, None), sync, config),
            model.dtype,
        )
        stack.callback(self._sync.close)
        self._version = 0
        self.num_bytes = 0
        """Of all weights; known after the first push."""

    def run(self) -> dict[str, float]:
        """Push once; return seconds by part, and the whole's as `push`."""
        self._clock.seconds.clear()
        started = time.perf_counter()
        metrics = self._sync.push(self._version)
        whole = time.perf_counter() - started
        self.num_bytes = round(metrics["sync/mib"] * MIB)
        self._version += 1
        return {**self._clock.seconds, "push": whole}


class _Clock:
    """Sums seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call and add its time to that of the name."""
        started = time.perf_counter()
        result = call()
        elapsed = time.perf_counter() - started
        self.seconds[name] = self.seconds.get(name, 0.0) + elapsed
        return result


class _TimedTransport:
    def __init__(self, transport: SharedMemoryTransport, clock: _Clock) -> None:
        self._transport = transport
        self._clock = clock

    def publish(self, policy_version: int) -> SentWeights:
        return self._clock.time("export", lambda: self._transport.publish(policy_version))

    def settle(self) -> None:
        self._clock.time("remove old files", self._transport.settle)

    def close(self) -> None:
        self._transport.close()


class _TimedRollouts:
    def __init__(self, rollouts: RolloutPool, clock: _Clock) -> None:
        self._rollouts = rollouts
        self._clock = clock

    def take_weights(self, weights: SentWeights) -> list[LoadReport]:
        return self._clock.time("load, digests", lambda: self._rollouts.take_weights(weights))

    def generate_on_each(self, requests: Sequence[Any]) -> Any:
        return self._clock.time(
            "decode canaries", lambda: self._rollouts.generate_on_each(requests)
        )


class _TimedLearner:
    def __init__(self, learner: LearnerPool, clock: _Clock) -> None:
        self._learner = learner
        self._clock = clock

    def completion_logprobs(self, pairs: Any) -> list[list[float]]:
        return self._clock.time("check canaries", lambda: self._learner.completion_logprobs(pairs))


class _Copy:
    """Copies as many bytes from memory to memory."""

    def __init__(self, num_bytes: int) -> None:
        self._source = torch.ones(num_bytes, dtype=torch.uint8)
        self._target = torch.zeros(num_bytes, dtype=torch.uint8)

    def run(self) -> float:
        """Return seconds of a copy."""
        started = time.perf_counter()
        self._target.copy_(self._source)
        return time.perf_counter() - started


def _report(
    args: argparse.Namespace,
    num_bytes: int,
    pushes: Sequence[dict[str, float]],
    copies: Sequence[float],
) -> bool:
    print(f"{args.engine}, {args.dtype}, {num_bytes / MIB:,.1f} MiB, {args.runs} runs")
    for part in pushes[0]:
        seconds = [push[part] for push in pushes]
        print(f"{part:17s} {_spread(seconds)}   {_rate(num_bytes, seconds)}")
    print(f"{'one copy':17s} {_spread(copies)}   {_rate(num_bytes, copies)}")
    ratios = [copy / push["push"] for copy, push in zip(copies, pushes, strict=True)]
    goal = GOAL[args.engine] if args.goal is None else args.goal
    return report_ratio("push rate / copy rate", ratios, goal)


def _spread(seconds: Sequence[float]) -> str:
    return (
        f"median {statistics.median(seconds):8.4f} s, runs {min(seconds):.4f} to {max(seconds):.4f}"
    )


def _rate(num_bytes: int, seconds: Sequence[float]) -> str:
    return f"{num_bytes / 1e9 / statistics.median(seconds):7.3f} GB/s"


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("vllm", "hf"), default="vllm")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--dtype", default="float32", help="compute type, in which weights travel")
    parser.add_argument("--runs", type=int, default=7, help="after one warm-up")
    parser.add_argument("--goal", type=float, help="least share of the copy rate")
    parser.add_argument("--cpu-kv-cache-gib", type=float, default=0.5, help="of the vLLM engine")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
