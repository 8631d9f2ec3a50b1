"""A run that was killed, at any moment, ends as the undisturbed one, to the bit."""

import signal

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow]

STEPS = 10


def assert_equals_undisturbed(runs, name, undisturbed):
    assert runs.metrics(name) == undisturbed
    assert runs.final_weights(name) == runs.final_weights("undisturbed")


def test_kills_at_three_moments_and_of_an_engine_leave_no_trace(runs, undisturbed):
    killed = -signal.SIGKILL
    assert runs.run("killed", fault=("mid_step", 4)) == killed
    assert [record["step"] for record in runs.metrics("killed")] == [0, 1, 2, 3]
    assert runs.run("killed", fault=("before_save", 6)) == killed
    assert runs.run("killed", fault=("during_save", 8)) == killed
    checkpoints = runs.folder / "killed" / "checkpoints"
    assert [path.name for path in checkpoints.glob(".writing_*")] == [".writing_step_000008"]
    # A killed rollout actor costs nothing but time.
    assert runs.run("killed", "run.resume=must", fault=("rollout_actor", 2)) == 0
    assert "replacing it" in runs.log("killed")
    assert_equals_undisturbed(runs, "killed", undisturbed)
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step_000008", "step_000010"]


def test_interrupted_runs_save_their_state_and_continue(runs, undisturbed):
    """The signal does not wait for an evaluation, which is made up for; no number is lost."""
    assert runs.run("interrupted", fault=("evaluation", 4)) == 130
    last = runs.metrics("interrupted")[-1]
    assert last["step"] == 4
    assert "eval/accuracy" not in last
    runs.interrupt_after("step 6/", "interrupted")
    newest = max((runs.folder / "interrupted" / "checkpoints").glob("step_*"))
    assert int(newest.name.removeprefix("step_")) >= 6
    assert runs.run("interrupted", "run.resume=must") == 0
    by_step = {}
    for record in runs.metrics("interrupted"):
        by_step.setdefault(record["step"], {}).update(record)
    assert list(by_step.values()) == undisturbed
    assert runs.final_weights("interrupted") == runs.final_weights("undisturbed")
