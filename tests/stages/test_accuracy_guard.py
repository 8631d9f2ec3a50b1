"""The held-out accuracy of a Long2Short run must not fall."""

import json
from dataclasses import replace

import pytest

from mgpo.config.errors import UserError
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.learner.checkpoint import TrainState
from mgpo.stages.accuracy_guard import fall_of_accuracy, mark_fall, refuse_fallen
from mgpo.tracking.metrics import StepMetrics


class Run:
    """A run's folder with its first evaluation."""

    def __init__(self, folder, accuracy):
        self.metrics_path = folder / "metrics.jsonl"
        records = [{"step": 0, "eval/accuracy": accuracy}, {"step": 1}]
        self.metrics_path.write_text("".join(json.dumps(r) + "\n" for r in records))


def measured(accuracy):
    log = StepMetrics()
    log.add({"eval/accuracy": accuracy})
    return log


def test_a_fall_beyond_the_margin_is_told_and_stops_where_asked(tmp_path, caplog):
    config = LengthRewardConfig(lambda_=0.2, max_accuracy_drop=0.05)
    run, state = Run(tmp_path, 0.5), replace(TrainState(), step=4)
    assert mark_fall(config, run, state, measured(0.46)) == state
    assert caplog.text == ""
    assert mark_fall(config, run, state, measured(0.4)) == state
    assert "fell from 50.0% to 40.0%" in caplog.text
    stopping = replace(config, when_dropped="stop")
    refuse_fallen(stopping, run, mark_fall(stopping, run, state, measured(0.46)))
    marked = mark_fall(stopping, run, state, measured(0.4))
    with pytest.raises(UserError, match="the state of step 4 is saved"):
        refuse_fallen(stopping, run, marked)


def test_a_stopped_run_stays_stopped_until_the_rule_is_changed(tmp_path):
    stopping = LengthRewardConfig(lambda_=0.2, max_accuracy_drop=0.05, when_dropped="stop")
    run = Run(tmp_path, 0.5)
    restored = replace(TrainState(), step=4, stop_accuracy=0.4)
    launched_again = mark_fall(stopping, run, restored, StepMetrics())
    with pytest.raises(UserError, match=r"fell from 50\.0% to 40\.0%"):
        refuse_fallen(stopping, run, launched_again)
    refuse_fallen(replace(stopping, max_accuracy_drop=0.2), run, launched_again)
    refuse_fallen(replace(stopping, when_dropped="warn"), run, launched_again)
    assert launched_again.advanced(1).stop_accuracy is None


def test_a_fall_of_just_the_margin_is_none(tmp_path):
    config = LengthRewardConfig(lambda_=0.2, max_accuracy_drop=0.03)
    assert fall_of_accuracy(config, Run(tmp_path, 0.8), 0.77) == ""
    assert fall_of_accuracy(config, Run(tmp_path, 0.8), 0.769) != ""


def test_nothing_is_said_without_length_rewards_or_an_evaluation(tmp_path):
    run = Run(tmp_path, 0.5)
    assert fall_of_accuracy(LengthRewardConfig(), run, 0.1) == ""
    assert fall_of_accuracy(LengthRewardConfig(lambda_=0.2), run, None) == ""
