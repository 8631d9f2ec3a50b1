"""Tokens per second of an evaluation's sampling and grading over those of its bare engine.

python benchmarks/evaluation_overhead.py [--engine hf|vllm] [--model PATH] [--problems N] ...

One side is what `mgpo evaluate` does: the pool, every sample graded by the math reward and stored
on disk as it finishes. The other is the bare engine of `rollout_overhead.py`, given the same
requests. Both are loaded before, run one after the other, alternating; the figure is the median of
the runs' ratios of tokens per second. With `hf` both sides sample the same tokens; with `vllm` no
stop id is set, so that both sample --new-tokens per sample. Without --model, a random Qwen2 of 0.8
million parameters is used, of which grading and storing take a larger share than of any real model.
"""

import argparse
import logging
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import torch
from parts import Model, report_ratio, rest, settle_environment, start_rollouts
from rollout_overhead import bare_engine

from mgpo.cluster import Placement, start_cluster
from mgpo.config.rollout import RolloutConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.stages.sample_sources import PoolSource
from mgpo.stages.sampler import sample_into
from mgpo.stages.sampling import stored_request
from mgpo.types import Prompt
from rewards.config import RewardConfig
from rewards.service import RewardService

GOAL = 0.95
CONTEXT = 512


def main() -> int:
    """Prints both sides and their ratio; exit code 1 if it misses the goal."""
    args = _parse_args()
    settle_environment()
    logging.basicConfig(level=logging.WARNING)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(start_cluster("cpu"))
        model = Model.open(args.model, args.dtype, folder / "model")
        placement = Placement.plan(cluster, num_ranks=1, num_engines=1)
        torch.set_num_threads(placement.rollout_threads)
        config = RolloutConfig(max_batch_samples=args.in_flight)
        stop_ids = (model.tokenizer.eos_token_id,) if args.engine == "hf" else ()
        setup = model.engine_setup(config, stop_ids)
        pool = start_rollouts(stack, placement, args.engine, config, setup)
        rewards = stack.enter_context(closing(RewardService(RewardConfig())))
        rewards.self_test(["math"])
        bare = bare_engine(args.engine, setup, placement.rollout_threads)
        stack.callback(bare.close)
        sampling = SamplingConfig(
            samples_per_prompt=args.samples, max_completion_tokens=args.new_tokens
        )
        prompts = _prompts(model, args.problems)
        requests = [
            stored_request(prompt, index, sampling, seed=0, context=CONTEXT)
            for prompt in prompts
            for index in range(args.samples)
        ]

        def evaluate(run: int) -> int:
            path = folder / f"samples-{run}.jsonl"
            source = PoolSource(pool, 0, CONTEXT)
            groups = sample_into(path, lambda: source, sampling, rewards, prompts, "benchmark")
            return sum(sample.num_tokens for group in groups for sample in group)

        ratios = []
        for run in range(args.runs + 1):
            speeds = {}
            for name in ("engine", "evaluation")[:: -1 if run % 2 else 1]:
                rest()
                started = time.perf_counter()
                num_tokens = bare.generate(requests) if name == "engine" else evaluate(run)
                speeds[name] = num_tokens / (time.perf_counter() - started)
            if run > 0:  # the first warms up
                ratios.append(speeds["evaluation"] / speeds["engine"])
                print("   ".join(f"{name} {speed:,.0f} tokens/s" for name, speed in speeds.items()))
    return 0 if report_ratio("evaluation / engine", ratios, GOAL) else 1


def _prompts(model: Model, count: int) -> list[Prompt]:
    """Generated problems, which the math reward grades against some number."""
    return [replace(prompt, reward="math", reference="12") for prompt in model.prompts(count, None)]


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("hf", "vllm"), default="hf")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--dtype", default="float32", help="of the engines")
    parser.add_argument("--problems", type=int, default=32)
    parser.add_argument("--samples", type=int, default=16, help="of each problem")
    parser.add_argument("--new-tokens", type=int, default=100, help="at most, per sample")
    parser.add_argument("--in-flight", type=int, default=256, help="samples")
    parser.add_argument("--runs", type=int, default=3, help="of each side")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
