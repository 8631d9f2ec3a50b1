"""Long2Short: shifts that sum to zero, for right answers of unequal lengths only."""

import itertools
import json
import math
from pathlib import Path

import pytest
from fake_groups import group, rewards
from hypothesis import given
from hypothesis import strategies as st

from mgpo.algorithm.advantages import weigh_groups
from mgpo.algorithm.length_reward import length_metrics, length_shifts, shape_by_length
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.errors import UserError
from mgpo.config.length_reward import LengthRewardConfig

CONFIG = LengthRewardConfig(lambda_=0.2)
REFERENCES = Path(__file__).parents[1] / "data" / "algorithm" / "mgpo_ref.json"


def test_the_shifts_are_those_of_the_formula():
    # 1/10, 1/20, 1/40: mean 0.058333, the largest distance is 0.041667.
    expected = [0.2, 0.2 * (0.05 - 0.175 / 3) / (0.1 - 0.175 / 3)]
    expected.append(-sum(expected))
    assert length_shifts([10, 20, 40], 0.2) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("row", json.loads(REFERENCES.read_text())["long2short"])
def test_rewards_equal_those_of_an_independent_computation(row):
    before = group(*zip(map(bool, row["r"]), row["L"], strict=True))
    (after,) = shape_by_length([before], LengthRewardConfig(lambda_=row["lam"]))
    assert rewards(after) == pytest.approx(row["out"], abs=1e-12)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=64), st.floats(0.01, 10))
def test_they_sum_to_zero_and_shorter_is_never_worth_less(lengths, lambda_):
    shifts = length_shifts(lengths, lambda_)
    assert math.fsum(shifts) == pytest.approx(0, abs=1e-12 * max(1, lambda_))
    assert max(map(abs, shifts)) <= lambda_ * (1 + 1e-12)
    by_length = [shift for _, shift in sorted(zip(lengths, shifts, strict=True))]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(by_length))


@pytest.mark.parametrize(
    "samples",
    [
        [(True, 10), (False, 20), (False, 5)],
        [(False, 10), (False, 20)],
        [(True, 10), (True, 10), (False, 3)],
    ],
    ids=["one right", "none right", "equal lengths"],
)
def test_nothing_moves_without_right_answers_of_unequal_lengths(samples):
    before = group(*samples)
    (after,) = shape_by_length([before], CONFIG)
    assert rewards(after) == rewards(before)


def test_wrong_samples_and_the_mean_stay_and_accuracy_and_weight_do_not_see_it():
    before = group((True, 10), (False, 1), (True, 30))
    (after,) = shape_by_length([before], CONFIG)
    assert rewards(after) == pytest.approx([1.2, 0.0, 0.8])
    assert after.samples[1] == before.samples[1]
    (plain,), (shaped,) = (weigh_groups([g], AlgorithmConfig()) for g in (before, after))
    assert (shaped.group_accuracy, shaped.mgpo_weight, shaped.is_flat) == (
        plain.group_accuracy,
        plain.mgpo_weight,
        plain.is_flat,
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 10**5)), min_size=2, max_size=32))
def test_in_any_group_only_right_samples_move_and_the_sum_stays(samples):
    before = group(*samples)
    (after,) = shape_by_length([before], CONFIG)
    moved = [new != old for new, old in zip(after.samples, before.samples, strict=True)]
    right = {length for is_right, length in samples if is_right}
    assert not any(has_moved for has_moved, (is_right, _) in zip(moved, samples, strict=True)
                   if not is_right)  # fmt: skip
    assert math.fsum(rewards(after)) == pytest.approx(math.fsum(rewards(before)), abs=1e-12)
    assert math.fsum(s.length_shift for s in after.samples) == pytest.approx(0, abs=1e-12)
    assert any(moved) == (len(right) > 1)


def test_its_share_of_the_gradient_is_that_of_the_absolute_advantages():
    groups = [
        group((True, 10), (True, 30)),  # length alone
        group((True, 10), (False, 30)),  # verdicts
        group((True, 10), (True, 30), (False, 20), (False, 5)),  # both, which counts as verdicts
        group((False, 10), (False, 30)),
    ]
    weighed = weigh_groups(shape_by_length(groups, CONFIG), AlgorithmConfig(std_floor=0.0))
    # w(1) = 1/2 and |A| = sqrt(1/2) each; |A| = sqrt(1/2) each; rewards 1.2, 0.8, 0, 0.
    alone, verdicts = math.sqrt(0.5), 2 * math.sqrt(0.5)
    both = 2.0 / math.sqrt((0.7**2 + 0.3**2 + 2 * 0.5**2) / 3)
    expected = alone / (alone + verdicts + both)
    share = length_metrics(weighed)["reward/length_only_advantage_share"]
    assert share == pytest.approx(expected, rel=1e-12)


def test_a_group_that_is_all_right_trains_on_length_alone_unless_it_is_skipped():
    before = group((True, 10), (True, 30))
    (kept,) = weigh_groups(shape_by_length([before], CONFIG), AlgorithmConfig(gamma=1))
    # Normalised by the standard deviation, and halved by the weight of p = 1.
    assert [s.advantage for s in kept.samples] == pytest.approx(
        [0.5 * math.sqrt(0.5), -0.5 * math.sqrt(0.5)], rel=1e-4
    )
    assert length_metrics([kept]) == {"reward/length_only_advantage_share": 1.0}
    skipping = LengthRewardConfig(lambda_=0.2, all_correct="skip")
    (skipped,) = weigh_groups(shape_by_length([before], skipping), AlgorithmConfig())
    assert [s.advantage for s in skipped.samples] == [0.0, 0.0]


def test_it_is_off_by_default_and_refuses_numbers():
    groups = [group((True, 1), (True, 2))]
    assert shape_by_length(groups, LengthRewardConfig()) == groups
    with pytest.raises(UserError, match="prompt q: its reward is a number"):
        shape_by_length([group((True, 1), (True, 2), is_graded=True)], CONFIG)
