"""Stages that sample two random models, in processes of their own that may be killed."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fakes
from command_runs import environment

NUM_ROWS = 6
WAIT_S = 600
"""Longest wait for one launch; seconds on an idle machine."""


def make_domains(folder: Path) -> str:
    """Write two models and two domains; return the lines of an experiment that sample them."""
    for seed in (2, 3):
        fakes.make_model(folder / f"step_{seed}", seed=seed)
    domains = []
    for domain in ("math", "code"):
        rows = [
            {
                "id": f"r{i}",
                "prompt": f"{domain} {i}",
                "reference": "none",
                "reward": "fake_rewards.even_length",
                "topic": ("sums", "products")[i % 2],
            }
            for i in range(NUM_ROWS)
        ]
        path = folder / f"{domain}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        domains.append(f"  {domain}: {{rows: {path}}}\n")
    return (
        f"run: {{name: undisturbed, dir: {folder}}}\ndtype: float32\n"
        "rollout: {engine: hf, max_batch_samples: 4}\nreward: {processes_per_worker: 1}\n"
        f"domains:\n{''.join(domains)}"
    )


def start(experiment: Path, stage: str, name: str, *overrides: str) -> subprocess.Popen[str]:
    """Start a stage; what it says goes to NAME.log beside the experiment."""
    command = [sys.executable, "-m", "mgpo", stage, str(experiment), f"run.name={name}", *overrides]
    with (experiment.parent / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            command, env=environment(), cwd=experiment.parent, stdout=log, stderr=log, text=True
        )


def finish(experiment: Path, stage: str, name: str, *overrides: str) -> str:
    """Run a stage to its end and return what it said."""
    process = start(experiment, stage, name, *overrides)
    code = process.wait(timeout=WAIT_S)
    said = (experiment.parent / f"{name}.log").read_text()
    assert code == 0, said
    return said


def kill_when(is_time: Callable[[], bool], process: subprocess.Popen[str], log: Path) -> None:
    """End a process with SIGKILL as soon as something is so, which must be before it ends."""
    deadline = time.monotonic() + WAIT_S
    while not is_time():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.005)
    process.kill()
    assert process.wait(timeout=30) == -signal.SIGKILL, log.read_text()


def num_lines(*paths: Path) -> int:
    """Count the lines of the files that exist."""
    return sum(path.read_text().count("\n") for path in paths if path.exists())
