"""The TRL side of sft_vs_trl.py: one SFT step per line on stdin, one JSON line per step back.

Started with the Python that has TRL; imports nothing of this repository. The first line on stdin
holds the settings. Each step is the trainer's own, from `on_step_begin` to `on_step_end`; only when
it begins is prescribed from outside.
"""

import json
import os
import sys
import tempfile
import time
from typing import Any, TextIO

import torch
from datasets import Dataset
from transformers import AutoTokenizer, TrainerCallback
from trl import SFTConfig, SFTTrainer


def main() -> None:
    """Trains until stdin ends or the number of steps is done."""
    # What libraries print must not get between our lines.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    torch.set_num_threads(settings["num_threads"])
    with tempfile.TemporaryDirectory() as folder:
        trainer = _CountingTrainer(
            model=settings["model"],
            processing_class=AutoTokenizer.from_pretrained(settings["model"]),
            args=_config(settings, folder),
            train_dataset=Dataset.from_list(
                [
                    {
                        "input_ids": row["token_ids"],
                        "completion_mask": [
                            int(index >= row["prompt_len"])
                            for index in range(len(row["token_ids"]))
                        ],
                    }
                    for row in settings["rows"]
                ]
            ),
        )
        trainer.add_callback(_Turns(trainer, answers))
        trainer.train()


def _config(settings: dict[str, Any], folder: str) -> SFTConfig:
    return SFTConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=settings["dtype"] == "bfloat16",
        model_init_kwargs={"dtype": settings["dtype"]},
        gradient_checkpointing=False,
        max_steps=settings["steps"],
        per_device_train_batch_size=settings["microbatch"],
        gradient_accumulation_steps=settings["accumulation"],
        train_sampling_strategy="sequential",
        max_length=None if settings["batching"] == "padding_free" else settings["max_length"],
        packing=settings["batching"] == "packing",
        padding_free=settings["batching"] == "padding_free",
        completion_only_loss=True,
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
    )


class _CountingTrainer(SFTTrainer):
    """Adds up what a step really trains on."""

    def start_count(self) -> None:
        """Begin a step."""
        self.count = {"tokens": 0, "trained_tokens": 0, "padded_tokens": 0, "loss": 0.0}

    def training_step(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Do as SFTTrainer does, and count."""
        mask, size = inputs.get("attention_mask"), inputs["input_ids"].numel()
        self.count["padded_tokens"] += size
        self.count["tokens"] += size if mask is None else int(mask.sum())
        self.count["trained_tokens"] += int((inputs["labels"] != -100).sum())
        loss = super().training_step(model, inputs, *args, **kwargs)
        self.count["loss"] += float(loss)
        return loss


class _Turns(TrainerCallback):
    """Holds each step until its turn and reports it."""

    def __init__(self, trainer: _CountingTrainer, answers: TextIO) -> None:
        self._trainer = trainer
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
        self._trainer.start_count()
        self._started = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._answer({"step_s": time.perf_counter() - self._started, **self._trainer.count})


if __name__ == "__main__":
    main()
