"""The overlong penalty: DAPO's three pieces, and that no verdict sees it."""

from dataclasses import replace

import pytest
from fake_groups import group, rewards

from mgpo.algorithm.advantages import weigh_groups
from mgpo.algorithm.overlong import overlong_metrics, penalize_overlong
from mgpo.algorithm.shaping import shape_rewards, shaping_metrics
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.config.overlong import OverlongConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.training import RlConfig

CONFIG = OverlongConfig(buffer_tokens=40, factor=0.5)
"""With at most 100 tokens the penalty begins beyond 60."""


def rl_config(**sections):
    return RlConfig(steps=1, rollout=RolloutConfig(max_completion_tokens=100), **sections)


@pytest.mark.parametrize(
    ("length", "shift"), [(1, 0.0), (60, 0.0), (61, -0.5 / 40), (80, -0.25), (100, -0.5)]
)
def test_the_penalty_grows_linearly_over_the_buffer(length, shift):
    (after,) = penalize_overlong([group((True, length), (False, length))], CONFIG, 100)
    assert rewards(after) == pytest.approx([1 + shift, shift], abs=1e-12)
    assert [sample.overlong_shift for sample in after.samples] == [shift, shift]


def test_accuracy_weight_and_flatness_do_not_see_it():
    before = group((True, 10), (True, 100), (False, 100), (False, 10))
    (after,) = penalize_overlong([before], CONFIG, 100)
    (plain,), (shaped,) = (weigh_groups([g], AlgorithmConfig()) for g in (before, after))
    assert shaped.group_accuracy == plain.group_accuracy == 0.5
    assert shaped.mgpo_weight == plain.mgpo_weight
    assert [s.is_correct for s in shaped.samples] == [s.is_correct for s in plain.samples]
    assert [s.value for s in shaped.samples] == [s.value for s in plain.samples]
    advantages = [sample.advantage for sample in shaped.samples]
    # Rewards 1, 0.5, -0.5, 0: mean 0.25, squares 1.25, ddof 1.
    spread = (1.25 / 3) ** 0.5
    assert advantages == pytest.approx(
        [0.75 / spread, 0.25 / spread, -0.75 / spread, -0.25 / spread], rel=1e-5
    )


@pytest.mark.parametrize("is_right", [True, False])
def test_a_flat_group_is_not_trained_on_length(is_right):
    (after,) = penalize_overlong([group((is_right, 10), (is_right, 100))], CONFIG, 100)
    assert rewards(after)[0] != rewards(after)[1]
    (weighed,) = weigh_groups([after], AlgorithmConfig())
    assert weighed.is_flat
    assert [sample.advantage for sample in weighed.samples] == [0.0, 0.0]


def test_graded_rewards_are_shifted_as_well():
    (after,) = penalize_overlong([group((True, 100), (False, 10), is_graded=True)], CONFIG, 100)
    assert rewards(after) == [0.5, 0.0]


def test_with_long2short_the_shifts_add_up_in_fields_of_their_own():
    config = rl_config(length_reward=LengthRewardConfig(lambda_=0.2), overlong=CONFIG)
    (after,) = shape_rewards([group((True, 50), (True, 100), (False, 100))], config)
    assert [sample.length_shift for sample in after.samples] == pytest.approx([0.2, -0.2, 0.0])
    assert [sample.overlong_shift for sample in after.samples] == [0.0, -0.5, -0.5]
    assert rewards(after) == pytest.approx([1.2, 0.3, -0.5])


def test_a_group_of_right_answers_is_trained_on_length_by_long2short_only_where_it_keeps_it():
    groups = [group((True, 50), (True, 100))]
    for all_correct, is_trained in (("keep", True), ("skip", False)):
        length = LengthRewardConfig(lambda_=0.2, all_correct=all_correct)
        shaped = shape_rewards(groups, rl_config(length_reward=length, overlong=CONFIG))
        (weighed,) = weigh_groups(shaped, AlgorithmConfig())
        assert any(sample.advantage for sample in weighed.samples) == is_trained


def test_metrics_count_what_was_taken_and_are_absent_while_it_is_off():
    shaped = penalize_overlong([group((True, 10), (True, 80), (False, 100))], CONFIG, 100)
    assert overlong_metrics(shaped) == pytest.approx(
        {"reward/overlong_share": 2 / 3, "reward/overlong_shift_mean": -0.25}
    )
    assert shaping_metrics(shaped, rl_config(overlong=CONFIG)) == overlong_metrics(shaped)
    assert shaping_metrics(shaped, rl_config()) == {}
    assert overlong_metrics([]) == {}


def test_it_is_off_by_default_and_its_buffer_fits_into_a_completion():
    before = [group((True, 100), (False, 100))]
    assert shape_rewards(before, rl_config()) == before
    with pytest.raises(ValueError, match=r"at most rollout\.max_completion_tokens \(100\)"):
        rl_config(overlong=replace(CONFIG, buffer_tokens=101))
    with pytest.raises(ValueError, match=r"overlong\.factor must be above 0"):
        OverlongConfig(factor=0.0)
