"""Two FSDP2 ranks over gloo train as one does."""

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow]

STEPS = 5
COMPARED = ("loss/policy", "loss/entropy", "learner/grad_norm", "reward/accuracy")


def curve(metrics):
    return [[record[key] for key in COMPARED] for record in metrics if 0 < record["step"] <= STEPS]


def test_two_ranks_have_the_loss_curve_of_one(runs, undisturbed):
    code = runs.run("two_ranks", "learner.num_ranks=2", f"steps={STEPS}", "data.eval=null")
    assert code == 0, runs.log("two_ranks")
    one, two = curve(undisturbed), curve(runs.metrics("two_ranks"))
    assert len(two) == STEPS
    assert any(row[2] > 1e-3 for row in one)
    for expected, got in zip(one, two, strict=True):
        assert got == pytest.approx(expected, rel=1e-4, abs=1e-6)
