"""What several benchmarks need: environment, model, prompts, the toolkit's parts, medians."""

import importlib
import itertools
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoTokenizer

from mgpo.cluster import Placement
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.learner.pool import LearnerPool
from mgpo.learner.setup import LearnerSetup
from mgpo.rollout.engine import EngineSetup
from mgpo.rollout.engines import ENGINES
from mgpo.rollout.pool import RolloutPool
from mgpo.types import Prompt

_TINY = Path(__file__).resolve().parents[1] / "experiments" / "tiny"
_REST_S = 1.5
_NICENESS = "RAY_worker_niceness"
_DIFFICULTIES = (1, 6)
"""Of generated problems: those of the smollm2 experiment."""


def settle_environment(*, preload_tcmalloc: bool = False) -> None:
    """Start this script anew, unless its environment already is as all sides shall have it.

    OpenMP's idle threads sleep, as in the pools' actors: on busy cores a side whose idle threads
    spin is many times slower, and the ratio would say nothing. Ray runs actors at niceness 15, at
    which they would lose to other work while the other side would not; RAY_worker_niceness=15
    measures that case. Both are read once, by OpenMP and by Ray's first process.
    """
    wanted = {
        "OMP_WAIT_POLICY": "PASSIVE",
        _NICENESS: os.environ.get(_NICENESS, "0"),
    }
    tcmalloc = find_library("tcmalloc_minimal")
    if preload_tcmalloc and tcmalloc:
        preloads = [*os.environ.get("LD_PRELOAD", "").split(os.pathsep), tcmalloc]
        wanted["LD_PRELOAD"] = os.pathsep.join(
            library for library in dict.fromkeys(preloads) if library
        )
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def rest() -> None:
    """Wait until the side that had its turn is idle: vLLM's workers spin for a second after it."""
    time.sleep(_REST_S)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model folder and what the parts must know of it."""

    path: Path
    dtype: str
    tokenizer: Any
    vocab_size: int

    @classmethod
    def open(cls, path: Path | None, dtype: str, folder: Path) -> "Model":
        """Read a model's tokenizer; without a path, make the tiny experiment's in `folder`."""
        path = path or _make_model(folder)
        tokenizer = AutoTokenizer.from_pretrained(path)
        vocab_size = min(len(tokenizer), AutoConfig.from_pretrained(path).vocab_size)
        return cls(path=path, dtype=dtype, tokenizer=tokenizer, vocab_size=vocab_size)

    def engine_setup(
        self, config: RolloutConfig, stop_token_ids: Collection[int] = ()
    ) -> EngineSetup:
        """What an engine starts with; without stop ids every completion has its full length."""
        return EngineSetup(
            model_path=str(self.path),
            dtype=self.dtype,
            device="cpu",
            config=config,
            vocab_size=self.vocab_size,
            stop_token_ids=tuple(stop_token_ids),
        )

    def prompts(self, count: int, file: Path | None) -> list[Prompt]:
        """The first prompts of a JSONL file (field `prompt`), or generated arithmetic problems."""
        texts = _prompts_of(file, count) if file else _generated_prompts(count)
        if len(texts) < count:
            raise SystemExit(f"{file} holds {len(texts)} prompts, {count} are needed")
        return [self.prompt(f"prompt-{index}", text) for index, text in enumerate(texts)]

    def prompt(self, name: str, text: str) -> Prompt:
        """Render a problem through the chat template."""
        messages = ({"role": "user", "content": text},)
        rendered = self.tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, tokenize=True, return_dict=True
        )
        return Prompt(
            id=name,
            messages=messages,
            token_ids=tuple(rendered["input_ids"]),
            domain="math",
            reward="",
            reference="",
        )


def start_rollouts(
    stack: ExitStack,
    placement: Placement,
    engine: str,
    config: RolloutConfig,
    setup: EngineSetup,
) -> RolloutPool:
    """Start a pool of one engine that ends with the stack."""
    pool = RolloutPool(
        config,
        ENGINES[engine],
        setup,
        num_threads=placement.rollout_threads,
        options=placement.rollout_options,
    )
    stack.callback(pool.close)
    pool.wait_until_loaded()
    return pool


def start_learner(
    stack: ExitStack,
    placement: Placement,
    model: Model,
    config: LearnerConfig,
    algorithm: AlgorithmConfig | None = None,
) -> LearnerPool:
    """Start a learner of one rank that ends with the stack; without an algorithm, the default
    one's."""
    setup = LearnerSetup(
        learner=config,
        algorithm=algorithm or AlgorithmConfig(),
        model_source=str(model.path),
        dtype=model.dtype,
        vocab_size=model.vocab_size,
        temperature=1.0,
        device="cpu",
        shares_device=False,
        num_threads=placement.learner_threads,
    )
    learner = LearnerPool(setup, total_updates=1, options=placement.learner_options)
    stack.callback(learner.close)
    learner.wait_until_loaded()
    return learner


def report_ratio(name: str, ratios: Sequence[float], goal: float) -> bool:
    """Print the median ratio with its range; return whether it reaches the goal."""
    ratio = statistics.median(ratios)
    print(f"{name} = {ratio:.3f}, runs {min(ratios):.3f} to {max(ratios):.3f} (goal {goal:g})")
    return ratio >= goal


def _make_model(folder: Path) -> Path:
    """The random model and tokenizer of the tiny experiment."""
    prepare = _tiny_module("prepare")
    tokenizer = prepare.make_tokenizer()
    tokenizer.save_pretrained(folder)
    prepare.make_model(tokenizer, seed=0).save_pretrained(folder)
    return folder


def _generated_prompts(count: int) -> list[str]:
    problems = _tiny_module("arithmetic").problems(random.Random(0), _DIFFICULTIES)
    return [next(problems).prompt for _ in range(count)]


def _prompts_of(file: Path, count: int) -> list[str]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line)["prompt"] for line in itertools.islice(lines, count)]


def _tiny_module(name: str) -> Any:
    if str(_TINY) not in sys.path:
        sys.path.insert(0, str(_TINY))
    return importlib.import_module(name)
