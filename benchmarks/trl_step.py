"""The TRL side of step_vs_trl.py: one GRPO step per line on stdin, one JSON line per step back.

Started by step_vs_trl.py with the Python that has TRL; imports nothing of this repository. The
first line on stdin holds the settings. Each step is the trainer's own, from `on_step_begin` to
`on_step_end`; two things are prescribed from outside: when a step begins, and how many tokens each
completion gets.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import torch
from datasets import Dataset
from transformers import AutoTokenizer, LogitsProcessor, TrainerCallback
from transformers.generation.continuous_batching.continuous_api import ContinuousBatchingManager
from trl import GRPOConfig, GRPOTrainer


def main() -> None:
    """Trains until stdin ends or the number of steps is done."""
    # What libraries print must not get between our lines.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    torch.set_num_threads(settings["num_threads"])
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=settings["model"],
            processing_class=AutoTokenizer.from_pretrained(settings["model"]),
            args=_config(settings, folder),
            reward_funcs=_random_rewards,
            train_dataset=Dataset.from_dict({"prompt": settings["prompts"]}),
        )
        if settings["generation"] == "continuous":
            _prescribe_continuous(settings["lengths"])
        else:
            _prescribe_padded(trainer, settings["lengths"])
        trainer.add_callback(_Turns(_watch_generation(trainer), answers))
        trainer.train()


def _config(settings: dict[str, Any], folder: str) -> GRPOConfig:
    num_samples = len(settings["lengths"])
    continuous: dict[str, Any] = {}
    if settings["generation"] == "continuous":
        continuous = {
            "use_transformers_continuous_batching": True,
            "transformers_continuous_batching_config": settings["continuous_batching"],
            "generation_kwargs": {"eos_token_id": -1},  # no stop id: lengths come per request
        }
    return GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=settings["dtype"] == "bfloat16",
        model_init_kwargs={"dtype": settings["dtype"]},
        gradient_checkpointing=False,
        max_steps=settings["steps"],
        per_device_train_batch_size=settings["microbatch"],
        gradient_accumulation_steps=num_samples // settings["microbatch"],
        num_generations=settings["group_size"],
        max_completion_length=max(settings["lengths"]),
        shuffle_dataset=False,
        temperature=1.0,
        beta=0.0,
        loss_type="grpo",
        num_iterations=1,
        learning_rate=settings["lr"],
        lr_scheduler_type="constant",
        adam_beta1=settings["betas"][0],
        adam_beta2=settings["betas"][1],
        weight_decay=0.0,
        max_grad_norm=settings["grad_clip"],
        optim="adamw_torch_fused",
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        **continuous,
    )


def _random_rewards(completions: Sequence[Any], **_: Any) -> list[float]:
    return torch.rand(len(completions)).tolist()


class _PrescribedLengths(LogitsProcessor):
    """Keeps each row from stopping before its length, and stops it there."""

    def __init__(self, lengths: Sequence[int], stop_ids: Sequence[int]) -> None:
        self._lengths = torch.tensor(lengths)
        self._stop_ids = list(stop_ids)
        self._num_done = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self._num_done += 1
        scores[:, self._stop_ids] = -torch.inf
        last = self._lengths == self._num_done
        if last.any():
            scores[last] = -torch.inf
            scores[last, self._stop_ids[0]] = 0.0
        return scores


def _prescribe_padded(trainer: GRPOTrainer, lengths: Sequence[int]) -> None:
    generate = trainer.model.generate
    stop_ids = trainer.eos_token_ids

    def generate_lengths(*args: Any, **kwargs: Any) -> Any:
        processor = _PrescribedLengths(lengths, stop_ids)
        return generate(*args, **kwargs, logits_processor=[processor])

    trainer.model.generate = generate_lengths


def _prescribe_continuous(lengths: Sequence[int]) -> None:
    add_request = ContinuousBatchingManager.add_request

    def add_with_length(self: Any, *, request_id: str, **kwargs: Any) -> Any:
        index = int(request_id.removeprefix("req_")) % len(lengths)
        kwargs["max_new_tokens"] = lengths[index]
        return add_request(self, request_id=request_id, **kwargs)

    ContinuousBatchingManager.add_request = add_with_length


def _watch_generation(trainer: GRPOTrainer) -> Callable[[], dict[str, Any]]:
    """Time the trainer's generation; the result returns what the last one did."""
    generate = trainer._generate
    last: dict[str, Any] = {}

    def timed(prompts: list[Any]) -> Any:
        started = time.perf_counter()
        result = generate(prompts)
        prompt_ids, completion_ids = result[:2]
        last.update(
            generation_s=time.perf_counter() - started,
            prompt_tokens=sum(map(len, prompt_ids)),
            lengths=list(map(len, completion_ids)),
        )
        return result

    trainer._generate = timed
    return lambda: last


class _Turns(TrainerCallback):
    """Holds each step until its turn and reports it."""

    def __init__(self, last_generation: Callable[[], dict[str, Any]], answers: TextIO) -> None:
        self._last_generation = last_generation
        self._answers = answers
        self._is_first = True

    def _answer(self, fields: dict[str, Any]) -> None:
        print(json.dumps(fields), file=self._answers, flush=True)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if self._is_first:
            self._answer({"is_ready": True})
            self._is_first = False
        if not sys.stdin.readline():
            sys.exit()
        self._started = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        step_s = time.perf_counter() - self._started
        self._answer({"step_s": step_s, **self._last_generation()})


if __name__ == "__main__":
    main()
