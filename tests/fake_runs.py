"""Small real inputs of tracking: a run's configuration with its files, and weighed groups."""

from dataclasses import replace
from pathlib import Path

from mgpo.config.data import DataConfig
from mgpo.config.model import ModelConfig
from mgpo.config.run import RunConfig
from mgpo.config.tracking import TrackingConfig
from mgpo.config.training import RlConfig
from mgpo.types import Completion, Group, Prompt, Sample
from rewards.types import Outcome


def make_run_config(folder: Path, *, seed: int = 0, wandb: str = "disabled") -> RlConfig:
    """Return the configuration of a run in `folder`, whose data and model files exist."""
    data, model = folder / "train.jsonl", folder / "model"
    if not data.exists():
        data.write_text('{"id": "a", "prompt": "1+1"}\n', encoding="utf-8")
        model.mkdir()
        (model / "config.json").write_text("{}", encoding="utf-8")
        (model / "tokenizer.json").write_text("{}", encoding="utf-8")
    return RlConfig(
        steps=10,
        run=RunConfig(name="run", dir=str(folder), seed=seed),
        model=ModelConfig(path=str(model)),
        data=DataConfig(train=str(data), prompts_per_step=4),
        tracking=TrackingConfig(wandb=wandb, wandb_samples=2),  # type: ignore[arg-type]
    )


def with_resume(config: RlConfig, resume: str) -> RlConfig:
    """Return the configuration with another run.resume."""
    return replace(config, run=replace(config.run, resume=resume))


def make_groups(texts: tuple[str, ...] = ("four", "five")) -> list[Group]:
    """Return two groups with a sample per text; the first text is correct."""
    return [_make_group(f"prompt-{number}", texts) for number in range(2)]


def _make_group(prompt_id: str, texts: tuple[str, ...]) -> Group:
    prompt = Prompt(
        id=prompt_id,
        messages=({"role": "user", "content": "2+2?"},),
        token_ids=(1, 2),
        domain="math",
        reward="math",
        reference="4",
    )
    samples = tuple(
        Sample(
            prompt=prompt,
            completion=Completion(
                token_ids=(3, 4, 5),
                rollout_logprobs=(-0.1, -0.2, -0.3),
                finish_reason="stop",
                policy_version=7,
                text=text,
            ),
            outcome=Outcome(
                status="ok",
                correct=index == 0,
                value=float(index == 0),
                reason="" if index == 0 else "mismatch",
                detail={"extracted": text, "gap": float("nan")},
            ),
            reward=float(index == 0),
            advantage=0.5 - index,
        )
        for index, text in enumerate(texts)
    )
    return Group(prompt=prompt, samples=samples, group_accuracy=0.5, mgpo_weight=1.0)
