"""Small experiments on random weights, and `mgpo rl` or `mgpo sft` on them in processes of their
own."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fakes

TESTS = Path(__file__).parent
RAGGED = (
    "time/",
    "rollout/tokens_per_s",
    "eval/tokens_per_s",
    "learner/tokens_per_s",
    "rollout/rss_mib",
    "learner/rss_mib",
    "rollout/restarts",
    "reward/queue_depth_max",
)
"""Keys that may differ between equal runs: times, speeds, memory, waiting work, and the count of
faults."""


def make_experiment(folder: Path, steps: int, dtype: str = "float32", *, head_dim: int = 8) -> Path:
    """Write model, rows and YAML; rewards come from fake_rewards."""
    fakes.make_model(folder / "model", seed=2, head_dim=head_dim)
    rows = [
        {
            "id": f"r{i}",
            "prompt": f"say {i}",
            "reference": "none",
            "reward": "fake_rewards.even_length",
        }
        for i in range(30)
    ]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:4]))
    experiment = folder / "rl.yaml"
    experiment.write_text(
        f"""
stage: rl
steps: {steps}
run: {{name: undisturbed, dir: {folder}}}
model: {{path: {folder}/model, dtype: {dtype}}}
data: {{train: {folder}/train.jsonl, eval: {folder}/eval.jsonl, prompts_per_step: 4}}
rollout: {{engine: hf, group_size: 4, max_completion_tokens: 120, max_batch_samples: 8}}
reward: {{processes_per_worker: 1}}
learner: {{lr: 1.0e-3, warmup_steps: 2}}
eval: {{every: 4, samples_per_prompt: 2}}
checkpoint: {{every: 2, keep_last: 2}}
tracking: {{wandb: disabled}}
"""
    )
    return experiment


def make_sft_experiment(folder: Path) -> Path:
    """Write model, uneven worked rows and YAML: three epochs, batches by tokens, a cosine."""
    fakes.make_model(folder / "model", seed=2)
    rng = random.Random(0)
    rows = [
        {"id": f"r{i}", "prompt": f"say {i}", "response": str(i) * rng.randint(1, 60)}
        for i in range(30)
    ]
    (folder / "sft.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    experiment = folder / "sft.yaml"
    experiment.write_text(
        f"""
stage: sft
epochs: 3
run: {{name: undisturbed, dir: {folder}}}
model: {{path: {folder}/model, dtype: float32}}
data: {{train: {folder}/sft.jsonl}}
sft: {{tokens_per_step: 700}}
rollout: {{engine: hf, max_completion_tokens: 16}}
reward: {{processes_per_worker: 1}}
learner: {{lr: 1.0e-3, min_lr: 1.0e-5, schedule: cosine, warmup_share: 0.2}}
checkpoint: {{every: 4, export_every: 4}}
tracking: {{wandb: disabled}}
"""
    )
    return experiment


def environment() -> dict[str, str]:
    """The environment of a driver that finds the tests' plugins and starts a Ray of its own."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    variables.pop("RAY_ADDRESS", None)
    return variables


def run_command(
    experiment: Path,
    name: str,
    *overrides: str,
    stage: str = "rl",
    fault: Sequence[object] = (),
) -> subprocess.CompletedProcess[str]:
    """Run to the end, or to the fault planted in `rl` (see integration/driver_with_faults.py)."""
    command = [sys.executable, "-m", "mgpo", stage]
    if fault:
        script = TESTS / "integration" / "driver_with_faults.py"
        command = [sys.executable, str(script), *map(str, fault)]
    return subprocess.run(
        [*command, str(experiment), f"run.name={name}", *overrides],
        env=environment(),
        cwd=experiment.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )


def stable_metrics(run: Path) -> list[dict[str, Any]]:
    """Return the metrics of a run without what may differ."""
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in record.items() if not k.startswith(RAGGED)} for record in records]


class Runs:
    """Runs of one experiment, by name, in one folder."""

    def __init__(self, folder: Path, experiment: Path, stage: str = "rl"):
        self.folder = folder
        self.experiment = experiment
        self.stage = stage

    def run(self, name: str, *overrides: str, fault: Sequence[object] = ()) -> int:
        """Run the command, keep its log, return its exit code."""
        done = run_command(self.experiment, name, *overrides, stage=self.stage, fault=fault)
        self._log_path(name).write_text(done.stdout + done.stderr)
        return done.returncode

    def interrupt_after(self, line: str, name: str, *overrides: str) -> None:
        """Run until a line is written, then ask the process to stop, and wait until it has."""
        command = [sys.executable, "-m", "mgpo", self.stage, str(self.experiment)]
        process = subprocess.Popen(
            [*command, f"run.name={name}", *overrides],
            env=environment(),
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for written in process.stderr:
            if line in written:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stderr.read()
        assert process.wait(timeout=120) == 130, rest

    def log(self, name: str) -> str:
        """What the last launch of a run wrote."""
        return self._log_path(name).read_text()

    def metrics(self, name: str) -> list[dict[str, Any]]:
        """Metrics of a run without what may differ."""
        return stable_metrics(self.folder / name)

    def final_weights(self, name: str) -> bytes:
        """The weights a run ended with."""
        return (self.folder / name / "final" / "model.safetensors").read_bytes()

    def _log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"
