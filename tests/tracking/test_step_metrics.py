"""What a step may record."""

import math

import pytest

from mgpo.tracking.metrics import StepMetrics


@pytest.mark.parametrize(
    "key", ["accuracy", "rewards/accuracy", "reward/", "reward/a b", "x/reward/a"]
)
def test_key_of_another_form_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="area/name"):
        StepMetrics().add({key: 1.0})


def test_key_set_twice_is_refused() -> None:
    log = StepMetrics()
    log.add({"reward/mean": 1.0})
    with pytest.raises(ValueError, match="reward/mean is set twice"):
        log.add({"reward/mean": 1.0})


def test_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="reward/mean must be a number, got list"):
        StepMetrics().add({"reward/mean": [1.0]})  # type: ignore[dict-item]


def test_values_that_are_not_finite_are_counted_and_recorded_as_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = StepMetrics()
    log.add({"loss/policy": math.nan, "loss/entropy": math.inf, "reward/mean": 0.5})
    assert log.values == {"loss/policy": None, "loss/entropy": None, "reward/mean": 0.5}
    assert log.num_not_finite == 2
    assert "loss/policy is nan" in caplog.text


def test_times_are_measured_once_per_block_and_for_the_whole_step() -> None:
    log = StepMetrics()
    with log.time("rollout"):
        pass
    record = log.finish()
    rollout_s, step_s = record["time/rollout_s"], record["time/step_s"]
    assert rollout_s is not None
    assert step_s is not None
    assert 0 <= rollout_s <= step_s
