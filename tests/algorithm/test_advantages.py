"""From verdicts to weighted advantages: what may influence what."""

import random
from dataclasses import replace
from statistics import fmean, stdev

import pytest

from mgpo.algorithm.advantages import drop_small_groups, weigh_groups
from mgpo.algorithm.control import permute_outcomes
from mgpo.algorithm.group_stats import group_metrics
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.types import Completion, Group, Prompt, Sample
from rewards.types import Outcome


def make_prompt(name="q", **fields):
    return Prompt(
        id=name,
        messages=({"role": "user", "content": "?"},),
        token_ids=(1, 2, 3),
        domain="math",
        reward="math",
        reference="1",
        fields=fields,
    )


def make_group(values, name="q", is_graded=False, truncated=(), **fields):
    prompt = make_prompt(name, **fields)
    samples = []
    for index, value in enumerate(values):
        completion = Completion(
            token_ids=(4,) * (index + 1),
            rollout_logprobs=(-1.0,) * (index + 1),
            finish_reason="length" if index in truncated else "stop",
            policy_version=0,
            text="",
        )
        outcome = Outcome(
            status="ok", correct=value >= 1.0, value=float(value), is_graded=is_graded
        )
        sample = Sample(prompt=prompt, completion=completion, outcome=outcome)
        samples.append(replace(sample, reward=sample.value))
    return Group(prompt=prompt, samples=tuple(samples))


def advantages(group):
    return [sample.advantage for sample in group.samples]


def test_advantages_equal_a_hand_computation():
    # One right of four: p = 1/4, mean 1/4, std with ddof 1 = 1/2, w = exp(-D(1/4 || 1/2)).
    (group,) = weigh_groups([make_group([1, 0, 0, 0])], AlgorithmConfig(gamma=1.0, std_floor=0.0))
    weight = 0.8773826753016616
    assert group.group_accuracy == 0.25
    assert group.mgpo_weight == pytest.approx(weight, rel=1e-12)
    assert advantages(group) == pytest.approx([1.5 * weight, *[-0.5 * weight] * 3], rel=1e-12)


def test_gamma_zero_equals_grpo_to_the_bit():
    rng = random.Random(0)
    for _ in range(50):
        values = [float(rng.random() < 0.4) for _ in range(16)]
        (group,) = weigh_groups([make_group(values)], AlgorithmConfig(gamma=0.0))
        if len(set(values)) == 1:
            assert advantages(group) == [0.0] * 16
        else:
            spread = stdev(values) + 1e-6
            assert advantages(group) == [(v - fmean(values)) / spread for v in values]


def test_the_weight_multiplies_the_advantage_not_the_reward():
    plain, weighted = (
        weigh_groups([make_group([1, 0, 0, 0, 0, 1, 0])], AlgorithmConfig(gamma=gamma))[0]
        for gamma in (0.0, 8.0)
    )
    assert [s.reward for s in plain.samples] == [s.reward for s in weighted.samples]
    assert advantages(weighted) == [weighted.mgpo_weight * value for value in advantages(plain)]
    assert weighted.mgpo_weight < 0.6


@pytest.mark.parametrize("value", [0, 1])
def test_a_flat_group_gives_exactly_nothing(value):
    (group,) = weigh_groups([make_group([value] * 8)], AlgorithmConfig(std_floor=0.0))
    assert group.is_flat
    assert advantages(group) == [0.0] * 8


def test_a_shaped_reward_changes_neither_accuracy_nor_weight_nor_flatness():
    group = make_group([1, 1, 0, 0])
    shaped = replace(
        group,
        samples=tuple(replace(s, reward=s.reward + 0.1 * i) for i, s in enumerate(group.samples)),
    )
    (before,), (after,) = (weigh_groups([g], AlgorithmConfig()) for g in (group, shaped))
    assert (before.group_accuracy, before.mgpo_weight) == (after.group_accuracy, after.mgpo_weight)
    all_wrong = make_group([0, 0, 0, 0])
    shaped_wrong = replace(
        all_wrong,
        samples=tuple(replace(s, reward=0.2 * i) for i, s in enumerate(all_wrong.samples)),
    )
    (phantom,) = weigh_groups([shaped_wrong], AlgorithmConfig())
    assert phantom.is_flat
    assert advantages(phantom) == [0.0] * 4


def test_a_truncated_right_answer_is_wrong():
    (group,) = weigh_groups([make_group([1, 1, 0, 0], truncated={1})], AlgorithmConfig())
    assert group.group_accuracy == 0.25
    assert advantages(group)[1] == advantages(group)[2] < 0


def test_graded_rewards_give_the_mean_value_as_accuracy():
    (group,) = weigh_groups([make_group([0.5, 1.0, 0.0, 0.3], is_graded=True)], AlgorithmConfig())
    assert group.group_accuracy == pytest.approx(0.45)


def test_a_group_of_verdicts_and_numbers_is_refused():
    mixed = make_group([1, 0, 0, 0])
    graded = make_group([0.5, 0.5, 0.2, 0.1], is_graded=True)
    group = replace(mixed, samples=mixed.samples[:2] + graded.samples[2:])
    with pytest.raises(ValueError, match="one kind"):
        weigh_groups([group], AlgorithmConfig())


def test_prior_accuracy_comes_from_the_row():
    group = make_group([1, 0, 0, 0], accuracy=0.5, accuracy_n=8, accuracy_model="m")
    (weighed,) = weigh_groups([group], AlgorithmConfig(accuracy_source="prior"))
    assert weighed.group_accuracy == 0.5
    assert weighed.mgpo_weight == 1.0


@pytest.mark.parametrize("field", ["accuracy", "accuracy_n", "accuracy_model"])
@pytest.mark.parametrize("hole", ["absent", "null"])
def test_prior_without_a_field_of_the_row_names_prompt_and_field(field, hole):
    fields = {"accuracy": 0.5, "accuracy_n": 8, "accuracy_model": "m"}
    if hole == "absent":
        del fields[field]
    else:
        fields[field] = None
    with pytest.raises(ValueError, match=f"prompt q has no field `{field}`"):
        weigh_groups([make_group([1, 0], **fields)], AlgorithmConfig(accuracy_source="prior"))


@pytest.mark.parametrize("accuracy", [-0.1, 1.1, float("nan")])
def test_an_impossible_prior_accuracy_names_its_prompt(accuracy):
    group = make_group([1, 0], accuracy=accuracy, accuracy_n=8, accuracy_model="m")
    with pytest.raises(ValueError, match="prompt q: accuracy must be from 0 to 1"):
        weigh_groups([group], AlgorithmConfig(accuracy_source="prior"))


def test_flatness_is_exact_equality():
    (group,) = weigh_groups([make_group([0.1 + 0.2, 0.3], is_graded=True)], AlgorithmConfig())
    assert not group.is_flat
    assert make_weighed_flat([0.3, 0.3])
    assert make_weighed_flat([0.0, 1.0], truncated={1})


def make_weighed_flat(values, **options):
    return weigh_groups([make_group(values, **options)], AlgorithmConfig())[0].is_flat


def test_values_that_differ_while_rewards_do_not_give_nothing_even_without_a_floor():
    group = make_group([1, 0, 0])
    same = replace(group, samples=tuple(replace(s, reward=0.25) for s in group.samples))
    (weighed,) = weigh_groups([same], AlgorithmConfig(std_floor=0.0))
    assert not weighed.is_flat
    assert advantages(weighed) == [0.0] * 3


def test_groups_with_fewer_than_two_valid_samples_are_dropped_and_counted():
    groups = [make_group([1, 0]), make_group([1]), make_group([])]
    kept, num_dropped = drop_small_groups(groups)
    assert kept == groups[:1]
    assert num_dropped == 2


def test_the_order_of_groups_changes_no_advantage():
    rng = random.Random(1)
    groups = [make_group([rng.random() < 0.5 for _ in range(8)], name=f"q{i}") for i in range(6)]
    forward = {g.prompt.id: g for g in weigh_groups(groups, AlgorithmConfig())}
    backward = {g.prompt.id: g for g in weigh_groups(groups[::-1], AlgorithmConfig())}
    assert forward == backward


def test_metrics_count_flat_groups_by_their_verdict():
    groups = weigh_groups(
        [make_group([1, 1]), make_group([0, 0]), make_group([0, 0]), make_group([1, 0])],
        AlgorithmConfig(),
    )
    metrics = group_metrics(groups)
    assert metrics["reward/accuracy"] == 3 / 8
    assert metrics["reward/flat_correct_share"] == 1 / 4
    assert metrics["reward/flat_wrong_share"] == 2 / 4
    assert metrics["rollout/completion_tokens_mean"] == 1.5
    assert metrics["reward/mgpo_weight_mean"] == pytest.approx((0.5 * 3 + 1.0) / 4, rel=1e-12)


def test_metrics_of_one_group_equal_a_hand_computation():
    group = replace(make_group([1, 1, 0, 0], truncated={1}), num_errors=3)
    (weighed,) = weigh_groups([group], AlgorithmConfig(gamma=0.0, std_floor=0.0))
    assert group_metrics([weighed]) == pytest.approx(
        {
            "reward/groups": 1,
            "reward/accuracy": 0.25,
            "reward/mean": 0.25,
            "reward/flat_correct_share": 0,
            "reward/flat_wrong_share": 0,
            "reward/mgpo_weight_mean": 1,
            "reward/advantage_max": 1.5,
            "rollout/completion_tokens_mean": 2.5,
            "rollout/completion_tokens_max": 4,
            "rollout/truncated_share": 0.25,
        },
        rel=1e-12,
    )


def test_the_control_keeps_all_outcomes_and_breaks_their_order():
    groups = [make_group([i % 3 == 0] * 4, name=f"q{i}") for i in range(12)]
    permuted = permute_outcomes(groups, seed=3, step=5)
    before = [s.outcome.correct for g in groups for s in g.samples]
    after = [s.outcome.correct for g in permuted for s in g.samples]
    assert sorted(before) == sorted(after)
    assert before != after
    assert permuted == permute_outcomes(groups, seed=3, step=5)
    assert permuted != permute_outcomes(groups, seed=3, step=6)
    assert [g.prompt for g in permuted] == [g.prompt for g in groups]


def test_the_control_leaves_truncated_samples_wrong():
    groups = [make_group([1, 1, 0, 0], truncated={2, 3}), make_group([1, 1, 1, 1], name="r")]
    for step in range(20):
        samples = [s for g in permute_outcomes(groups, seed=0, step=step) for s in g.samples]
        assert all(s.reward == s.value for s in samples)
        assert [s.reward for s in samples if s.completion.is_truncated] == [0.0, 0.0]


def test_graded_rewards_beyond_one_are_refused_by_name_unless_plain_grpo():
    group = make_group([-1.0, 0.5, -1.0, 0.0], is_graded=True)
    with pytest.raises(ValueError, match=r"prompt q.*mean -0\.375.*algorithm\.gamma=0"):
        weigh_groups([group], AlgorithmConfig())
    (plain,) = weigh_groups([group], AlgorithmConfig(gamma=0.0))
    assert plain.mgpo_weight == 1.0
