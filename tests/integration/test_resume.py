"""A run that was killed, at any moment, ends as the undisturbed one, to the bit."""

import signal
import subprocess
import sys

import pytest
from command_runs import environment, make_experiment, run_rl, stable_metrics

pytestmark = [pytest.mark.ray, pytest.mark.slow]

STEPS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("resume")
    make_experiment(path, STEPS)
    return path


def run(folder, name, *overrides, fault=()):
    """Run the command, keep its log, return its exit code."""
    done = run_rl(folder / "rl.yaml", name, *overrides, fault=fault)
    (folder / f"{name}.log").write_text(done.stdout + done.stderr)
    return done.returncode


def stable(folder, name):
    return stable_metrics(folder / name)


def final_weights(folder, name):
    return (folder / name / "final" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(folder):
    assert run(folder, "undisturbed") == 0, (folder / "undisturbed.log").read_text()[-3000:]
    metrics = stable(folder, "undisturbed")
    assert [record["step"] for record in metrics] == list(range(STEPS + 1))
    assert any(record.get("learner/grad_norm", 0) > 0 for record in metrics)
    return metrics


def assert_equals_undisturbed(folder, name, undisturbed):
    assert stable(folder, name) == undisturbed
    assert final_weights(folder, name) == final_weights(folder, "undisturbed")


def test_five_steps_and_five_resumed_are_ten(folder, undisturbed):
    assert run(folder, "halves", "steps=5", "checkpoint.every=5") == 0
    assert run(folder, "halves", "run.resume=must") == 0
    # The shorter run evaluates after its own last step, which the longer one does not.
    halves = [
        {k: v for k, v in record.items() if not k.startswith("eval/") or record["step"] % 4 == 0
         or record["step"] == STEPS}
        for record in stable(folder, "halves")
    ]  # fmt: skip
    assert halves == undisturbed
    assert final_weights(folder, "halves") == final_weights(folder, "undisturbed")


def test_kills_at_three_moments_leave_no_trace(folder, undisturbed):
    killed = -signal.SIGKILL
    assert run(folder, "killed", fault=("mid_step", 4)) == killed
    assert [record["step"] for record in stable(folder, "killed")] == [0, 1, 2, 3]
    assert run(folder, "killed", fault=("before_save", 6)) == killed
    assert run(folder, "killed", fault=("during_save", 8)) == killed
    checkpoints = folder / "killed" / "checkpoints"
    assert [path.name for path in checkpoints.glob(".writing_*")] == [".writing_step_000008"]
    assert run(folder, "killed", "run.resume=must") == 0
    assert_equals_undisturbed(folder, "killed", undisturbed)
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step_000008", "step_000010"]


def test_a_killed_rollout_actor_costs_nothing_but_time(folder, undisturbed):
    assert run(folder, "survivor", fault=("rollout_actor", 3)) == 0
    assert "replacing it" in (folder / "survivor.log").read_text()
    assert_equals_undisturbed(folder, "survivor", undisturbed)


def test_an_interrupted_evaluation_is_made_up_for(folder, undisturbed):
    """The signal does not wait for it, the state is saved, and no number is lost."""
    assert run(folder, "unmeasured", fault=("evaluation", 4)) == 130
    interrupted = stable(folder, "unmeasured")
    assert interrupted[-1]["step"] == 4
    assert "eval/accuracy" not in interrupted[-1]
    assert run(folder, "unmeasured", "run.resume=must") == 0
    by_step = {}
    for record in stable(folder, "unmeasured"):
        by_step.setdefault(record["step"], {}).update(record)
    assert list(by_step.values()) == undisturbed
    assert final_weights(folder, "unmeasured") == final_weights(folder, "undisturbed")


def test_an_interrupted_run_saves_its_state_and_continues(folder, undisturbed):
    command = [sys.executable, "-m", "mgpo", "rl", str(folder / "rl.yaml"), "run.name=interrupted"]
    process = subprocess.Popen(
        command, env=environment(), cwd=folder, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "step 3/" in line:
            process.send_signal(signal.SIGTERM)
            break
    rest = process.stderr.read()
    assert process.wait(timeout=120) == 130, rest
    newest = max((folder / "interrupted" / "checkpoints").glob("step_*"))
    assert int(newest.name.removeprefix("step_")) >= 3
    assert run(folder, "interrupted", "run.resume=must") == 0
    assert_equals_undisturbed(folder, "interrupted", undisturbed)
