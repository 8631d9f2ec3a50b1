"""Tokens per second of supervised fine-tuning: mgpo over TRL's SFTTrainer, same model and rows.

python -m venv trl && trl/bin/pip install torch==2.13.0 trl==1.16.0 transformers==5.24.0
python benchmarks/sft_vs_trl.py --trl-python trl/bin/python --model PATH [--trl packing]

(torch for the CPU: --index-url https://download.pytorch.org/whl/cpu.) Without --model, a random
Qwen2 of 0.8 million parameters is used, which measures overheads only.

A step is one optimizer update on --rows rows; both sides are alive the whole time and take turns,
first one warm-up step each, then --runs steps each; the waiting side sleeps. Only real tokens
count, not padding. The figure is the median over the runs of mgpo / TRL tokens per second, each
step against the one next to it.

Rows: random tokens, lengths drawn once from a log-normal whose central 95 % are --shortest to
--longest, clipped to these; the first quarter of each is its prompt, which carries no loss. Both
sides get the same token ids.

What both sides do: loss on the response, mean over the tokens of the whole batch; one AdamW update
(betas 0.9, 0.95, no weight decay, gradients clipped at norm 1, constant rate); all cores; no
gradient checkpointing; OpenMP whose idle threads sleep; tcmalloc where the system has it. The
losses of the warm-up step, where both have the same weights, are compared: they must agree wherever
TRL trains on the same rows.

TRL (--trl): `padded`, its default, micro-batches of --trl-microbatch rows as they come;
`padding_free`, the same rows flattened; `packing`, its best-fit packing of all rows into sequences
of --longest tokens, of which a step takes as many as hold about the same number of tokens.

mgpo: LearnerPool of one rank, packed micro-batches of at most --microbatch-tokens.
"""

import argparse
import logging
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from parts import Model, report_ratio, rest, settle_environment, start_learner
from peer import Peer, Step

from mgpo.cluster import Placement, start_cluster
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.learner.pool import LearnerPool
from mgpo.learner.rows import TrainingRow

GOAL = 1.5
DRIVER = Path(__file__).resolve().with_name("trl_sft.py")
_SFT = AlgorithmConfig(aggregation="token_mean", mismatch="none")
_LOSS_TOLERANCE = 1e-3
"""Relative; of float32, which sums in another order on each side."""
Batch = list[TrainingRow]


def main() -> int:
    """Prints both sides and their ratio; exit code 1 if it misses the goal."""
    args = _parse_args()
    settle_environment(preload_tcmalloc=True)
    logging.basicConfig(level=logging.WARNING)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_cluster("cpu") as cluster,
        ExitStack() as stack,
    ):
        placement = Placement.plan(cluster, num_ranks=1, num_engines=1)
        model = Model.open(args.model, args.dtype, Path(folder))
        batches = _batches(args, model.vocab_size)
        trl = _start_trl(stack, args, model, batches, placement.learner_threads)
        config = LearnerConfig(
            max_tokens_per_microbatch=args.microbatch_tokens, lr=args.lr, warmup_steps=0
        )
        learner = start_learner(stack, placement, model, config, _SFT)
        pairs = []
        for index, batch in enumerate(batches):
            if index % 2:
                own = _step(learner, batch, index)
                pairs.append((trl.step(), own))
            else:
                pairs.append((trl.step(), _step(learner, batch, index)))
    _check_work(args, batches, pairs)
    return 0 if _report(args, batches, pairs[1:]) else 1


def _batches(args: argparse.Namespace, vocab_size: int) -> list[Batch]:
    """The rows of each step, the warm-up's first."""
    rng = random.Random(args.seed)
    middle = math.log(args.shortest * args.longest) / 2
    deviation = math.log(args.longest / args.shortest) / 4  # the range is two deviations each way

    def row() -> TrainingRow:
        drawn = round(rng.lognormvariate(middle, deviation))
        length = min(max(drawn, args.shortest), args.longest)
        ids = tuple(rng.randrange(vocab_size) for _ in range(length))
        return TrainingRow(token_ids=ids, prompt_len=length // 4)

    return [[row() for _ in range(args.rows)] for _ in range(1 + args.runs)]


def _start_trl(
    stack: ExitStack,
    args: argparse.Namespace,
    model: Model,
    batches: Sequence[Batch],
    num_threads: int,
) -> Peer:
    rows = [row for batch in batches for row in batch]
    microbatch, accumulation = args.trl_microbatch, args.rows // args.trl_microbatch
    if args.trl == "packing":
        tokens_per_step = sum(len(row.token_ids) for row in rows) / len(batches)
        microbatch, accumulation = 1, max(1, round(tokens_per_step / args.longest))
    settings = {
        "model": str(model.path.resolve()),
        "dtype": model.dtype,
        "rows": [{"token_ids": row.token_ids, "prompt_len": row.prompt_len} for row in rows],
        "batching": args.trl,
        "microbatch": microbatch,
        "accumulation": accumulation,
        "max_length": args.longest,
        "steps": len(batches),
        "lr": args.lr,
        "betas": [0.9, 0.95],
        "grad_clip": 1.0,
        "num_threads": num_threads,
    }
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": str(num_threads), "HF_HUB_OFFLINE": "1"}
    command = [args.trl_python, str(DRIVER)]
    return Peer(stack, command, settings, environment, verbose=args.verbose)


def _step(learner: LearnerPool, batch: Batch, index: int) -> Step:
    rest()
    started = time.perf_counter()
    metrics = learner.update([[row] for row in batch], objective="sft", first_update=index)
    return {
        "step_s": time.perf_counter() - started,
        "tokens": metrics["learner/tokens"],
        "trained_tokens": metrics["learner/trained_tokens"],
        "loss": metrics["loss/sft"],
    }


def _check_work(
    args: argparse.Namespace, batches: Sequence[Batch], pairs: Sequence[tuple[Step, Step]]
) -> None:
    """Raise RuntimeError unless TRL trained on the same rows (not under packing, which reorders
    them) and both started with the same loss."""
    if args.trl == "packing":
        return
    for batch, (theirs, own) in zip(batches, pairs, strict=True):
        tokens = sum(len(row.token_ids) for row in batch)
        trained = sum(row.num_trained_tokens for row in batch)
        for name, step in (("TRL", theirs), ("mgpo", own)):
            if (step["tokens"], step["trained_tokens"]) != (tokens, trained):
                raise RuntimeError(f"{name} trained on {step}, not {tokens} and {trained} tokens")
    theirs, own = pairs[0]
    if args.dtype == "float32" and not math.isclose(
        theirs["loss"], own["loss"], rel_tol=_LOSS_TOLERANCE
    ):
        raise RuntimeError(f"the first losses differ: TRL {theirs['loss']}, mgpo {own['loss']}")


def _report(
    args: argparse.Namespace, batches: Sequence[Batch], pairs: Sequence[tuple[Step, Step]]
) -> bool:
    lengths = [len(row.token_ids) for batch in batches for row in batch]
    print(
        f"{args.rows} rows a step of {min(lengths)} to {max(lengths)} tokens "
        f"(mean {statistics.fmean(lengths):.0f}), {args.dtype}, TRL: {args.trl}"
    )
    for name, steps in zip(("TRL", "mgpo"), zip(*pairs, strict=True), strict=True):
        runs = " ".join(f"{_rate(step):.0f}" for step in steps)
        seconds = " ".join(f"{step['step_s']:.1f}" for step in steps)
        print(f"{name:5s} tokens/s: {runs}   seconds a step: {seconds}")
    padding = [theirs["padded_tokens"] / theirs["tokens"] for theirs, _ in pairs]
    print(f"TRL computes {statistics.median(padding):.2f} positions per real token")
    ratios = [_rate(own) / _rate(theirs) for theirs, own in pairs]
    return report_ratio("mgpo / TRL", ratios, args.goal)


def _rate(step: dict[str, Any]) -> float:
    return float(step["tokens"] / step["step_s"])


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trl-python", required=True, help="Python of an environment with TRL")
    parser.add_argument("--trl", choices=("padded", "padding_free", "packing"), default="padded")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--rows", type=int, default=16, help="per step")
    parser.add_argument("--shortest", type=int, default=32)
    parser.add_argument("--longest", type=int, default=1024)
    parser.add_argument("--dtype", default="float32", help="compute type of both sides")
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--microbatch-tokens", type=int, default=2048, help="of mgpo")
    parser.add_argument("--trl-microbatch", type=int, default=8, help="rows; TRL's default")
    parser.add_argument("--runs", type=int, default=3, help="steps of each side after a warm-up")
    parser.add_argument("--seed", type=int, default=0, help="of lengths and tokens")
    parser.add_argument("--goal", type=float, default=GOAL, help="least ratio")
    parser.add_argument("--verbose", action="store_true", help="show what TRL writes")
    args = parser.parse_args()
    if args.rows % args.trl_microbatch:
        parser.error("--rows must be a multiple of --trl-microbatch")
    return args


if __name__ == "__main__":
    sys.exit(main())
