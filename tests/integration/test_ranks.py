"""Two FSDP2 ranks over gloo train as one does."""

import json

import pytest
from command_runs import make_experiment, run_rl

pytestmark = [pytest.mark.ray, pytest.mark.slow]

STEPS = 5
COMPARED = ("loss/policy", "loss/entropy", "learner/grad_norm", "reward/accuracy")


def curve(folder, name, num_ranks):
    experiment = folder / "rl.yaml"
    done = run_rl(experiment, name, f"learner.num_ranks={num_ranks}", "data.eval=null")
    assert done.returncode == 0, done.stderr[-3000:]
    records = [json.loads(line) for line in (folder / name / "metrics.jsonl").open()]
    return [[record[key] for key in COMPARED] for record in records if record["step"] > 0]


def test_two_ranks_have_the_loss_curve_of_one(tmp_path):
    make_experiment(tmp_path, STEPS)
    one, two = curve(tmp_path, "one", 1), curve(tmp_path, "two", 2)
    assert len(one) == STEPS
    assert any(row[2] > 1e-3 for row in one)
    for expected, got in zip(one, two, strict=True):
        assert got == pytest.approx(expected, rel=1e-4, abs=1e-6)
