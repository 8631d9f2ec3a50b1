"""Tokens per second of the rollout pool over those of its bare engine, on the same prompts.

python benchmarks/rollout_overhead.py [--model PATH] [--runs N]

Both sides run the `hf` engine with the same threads, OpenMP policy and priority, one after the
other, alternating. The figure is the median over the runs of pool / engine, each run against the
one next to it, so that other load on the machine hits both. Without --model, a random Qwen2 of 0.8
million parameters is used.
"""

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from mgpo.cluster import Placement, start_cluster
from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import GenerationRequest, SamplingParams
from mgpo.rollout.engines import ENGINES
from mgpo.rollout.hf_engine import HfEngine
from mgpo.rollout.pool import RolloutPool

GOAL = 0.95
SMALLEST_PROMPT_ID = 5


def main() -> int:
    """Prints both sides and their ratio; exit code 1 if it misses the goal."""
    args = _parse_args()
    if os.environ.get("OMP_WAIT_POLICY") != "PASSIVE":
        # The pool's actors have it. On busy cores an engine whose idle threads spin is many times
        # slower, and the ratio would say nothing. OpenMP reads it once, hence a new process.
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        # Ray runs actors at niceness 15: on busy cores they would lose to other work, the bare
        # engine would not. RAY_worker_niceness=15 measures that case.
        os.environ.setdefault("RAY_worker_niceness", "0")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = args.model or _make_model(Path(folder))
        return _measure(args, path)


def _measure(args: argparse.Namespace, path: Path) -> int:
    config = RolloutConfig(
        group_size=args.group_size,
        max_completion_tokens=args.new_tokens,
        max_batch_samples=args.batch_samples,
    )
    requests = _requests(args, AutoTokenizer.from_pretrained(path))
    engine_arguments = _engine_arguments(path, config)
    with start_cluster("cpu") as cluster:
        placement = Placement.plan(cluster, num_ranks=1, num_workers=1)
        torch.set_num_threads(placement.rollout_threads)
        bare = HfEngine(**engine_arguments)
        asyncio.run(bare.start())
        pool = RolloutPool(
            config,
            ENGINES["hf"],
            engine_arguments,
            num_threads=placement.rollout_threads,
            options=placement.rollout_options,
        )
        sides: dict[str, Callable[[], int]] = {
            "engine": lambda: asyncio.run(_generate(bare, requests)),
            "pool": lambda: _num_tokens(done for _, done in pool.generate(requests)),
        }
        counts = {name: run() for name, run in sides.items()}  # the warm-up
        if counts["engine"] != counts["pool"]:
            raise RuntimeError(f"both sides must sample the same tokens, got {counts}")
        speeds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(args.runs):
            for name, run in sides.items():
                started = time.perf_counter()
                num_tokens = run()
                speeds[name].append(num_tokens / (time.perf_counter() - started))
        pool.close()
    return _report(speeds)


def _report(speeds: dict[str, list[float]]) -> int:
    for name, values in speeds.items():
        runs = "".join(f"{value:9,.0f}" for value in values)
        print(f"{name:7s} median {statistics.median(values):9,.0f} tokens/s   runs{runs}")
    ratios = [pool / engine for pool, engine in zip(speeds["pool"], speeds["engine"], strict=True)]
    ratio = statistics.median(ratios)
    print(f"pool / engine = {ratio:.3f}, runs {min(ratios):.3f} to {max(ratios):.3f} (goal {GOAL})")
    return 0 if ratio >= GOAL else 1


async def _generate(engine: HfEngine, requests: Sequence[GenerationRequest]) -> int:
    """Feed the engine as its limits say, one dispatch after the other."""
    size = engine.limits(len(requests[0].seeds)).requests_per_dispatch
    num_tokens = 0
    for first in range(0, len(requests), size):
        stream = engine.generate(str(first), requests[first : first + size])
        num_tokens += _num_tokens([done async for _, done in stream])
    return num_tokens


def _num_tokens(groups: Any) -> int:
    return sum(len(completion.token_ids) for group in groups for completion in group)


def _requests(args: argparse.Namespace, tokenizer: Any) -> list[GenerationRequest]:
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


def _engine_arguments(path: Path, config: RolloutConfig) -> dict[str, Any]:
    tokenizer = AutoTokenizer.from_pretrained(path)
    vocab_size = min(len(tokenizer), AutoConfig.from_pretrained(path).vocab_size)
    return {
        "model_path": str(path),
        "dtype": "float32",
        "device": "cpu",
        "config": config,
        "vocab_size": vocab_size,
        "stop_token_ids": (tokenizer.eos_token_id,),
    }


def _make_model(folder: Path) -> Path:
    """The random model and tokenizer of the tiny experiment."""
    source = Path(__file__).resolve().parents[1] / "experiments" / "tiny"
    sys.path[:0] = [str(source)]
    from prepare import make_model, make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer, seed=0).save_pretrained(folder)
    return folder


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--group-size", type=int, default=16)
    parser.add_argument("--prompt-tokens", type=int, default=40, help="on average")
    parser.add_argument("--new-tokens", type=int, default=100, help="at most, per completion")
    parser.add_argument("--batch-samples", type=int, default=256)
    parser.add_argument("--runs", type=int, default=9, help="of each side")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
