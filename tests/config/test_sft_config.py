"""Steps or epochs, rows or tokens, warm-up in updates or as a share: one of each pair."""

import pytest

from mgpo.config.checkpoint import CheckpointConfig
from mgpo.config.data import DataConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.model import ModelConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.run import RunConfig
from mgpo.config.sft import SftTaskConfig
from mgpo.config.training import SftConfig


def make(**settings):
    return SftConfig(
        run=RunConfig(name="x"),
        model=ModelConfig(path="m"),
        data=DataConfig(train="t.jsonl"),
        **settings,
    )


@pytest.mark.parametrize("settings", [{}, {"steps": 3, "epochs": 2}])
def test_a_stage_has_steps_or_epochs(settings):
    with pytest.raises(ValueError, match=r"either steps or epochs, got steps=.* epochs="):
        make(**settings)


@pytest.mark.parametrize("key", ["steps", "epochs"])
def test_both_must_be_at_least_one(key):
    with pytest.raises(ValueError, match=f"{key} must be at least 1, got 0"):
        make(**{key: 0})


def test_a_batch_is_of_rows_or_of_tokens():
    assert SftTaskConfig().rows_per_step == 128
    assert SftTaskConfig(samples_per_step=3).rows_per_step == 3
    assert SftTaskConfig(tokens_per_step=500).rows_per_step is None
    with pytest.raises(ValueError, match=r"sft\.samples_per_step=3 and sft\.tokens_per_step=500"):
        SftTaskConfig(samples_per_step=3, tokens_per_step=500)
    with pytest.raises(ValueError, match=r"sft\.tokens_per_step must be at least 1, got 0"):
        SftTaskConfig(tokens_per_step=0)


def test_the_warm_up_is_in_updates_or_a_share_rounded_up():
    assert LearnerConfig().warmup_updates(1000) == 10
    assert LearnerConfig(warmup_steps=0).warmup_updates(1000) == 0
    share = LearnerConfig(warmup_share=0.05)
    assert [share.warmup_updates(total) for total in (1, 20, 21, 1000)] == [1, 1, 2, 50]
    assert LearnerConfig(warmup_share=0.01).warmup_updates(700) == 7
    with pytest.raises(ValueError, match=r"learner\.warmup_steps=5 and learner\.warmup_share=0\.1"):
        LearnerConfig(warmup_steps=5, warmup_share=0.1)
    with pytest.raises(ValueError, match=r"learner\.warmup_share must be from 0 to 1, got 1\.5"):
        LearnerConfig(warmup_share=1.5)


def test_a_supervised_stage_trains_at_temperature_one():
    with pytest.raises(ValueError, match=r"rollout\.temperature must be 1\.0.*eval\.temperature"):
        make(steps=1, rollout=RolloutConfig(temperature=0.7))


def test_a_supervised_batch_is_one_update():
    with pytest.raises(ValueError, match=r"learner\.updates_per_batch must be 1 .* got 2"):
        make(steps=1, learner=LearnerConfig(updates_per_batch=2))


def test_exports_are_off_or_every_so_many_steps():
    assert CheckpointConfig().export_every is None
    with pytest.raises(ValueError, match=r"checkpoint\.export_every must be at least 1, got 0"):
        CheckpointConfig(export_every=0)
