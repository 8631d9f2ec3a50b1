"""Flat groups make room for others: which, how many, and from what prompts."""

from dataclasses import replace

import pytest

from mgpo.config.data import DataConfig
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.training import RlConfig
from mgpo.data.inputs import StageInputs
from mgpo.stages.collection import collect_groups
from mgpo.stages.refill import refill_groups
from mgpo.tracking.metrics import StepMetrics
from mgpo.types import Completion, Prompt
from rewards.types import Outcome, error


def make_prompt(name, domain="math"):
    return Prompt(id=name, messages=(), token_ids=(1,), domain=domain, reward="math", reference="1")


def refill(groups, spares, teaches=str.isupper):
    """Groups are letters, of which capitals teach; a sampled spare is its own group."""
    rounds = []

    def sample(prompts):
        rounds.append("".join(prompts))
        return [prompt for prompt in prompts if prompt != "!"]

    refilled, metrics = refill_groups(list(groups), list(spares), sample, teaches)
    counts = (metrics["data/refill_prompts"], metrics["data/refilled_groups"])
    return "".join(refilled), rounds, counts


def test_flat_groups_are_replaced_in_their_places():
    # Half of the groups teach, so two spares are drawn for each open place.
    assert refill("AbCd", "xYzW") == ("AYCW", ["xYzW"], (4, 2))


def test_no_more_is_drawn_than_the_rate_so_far_asks_for():
    assert refill("ABCd", "XYZ") == ("ABCX", ["XY"], (2, 1))
    assert refill("ABcd", "wxyzUV") == ("ABUV", ["wxyz", "UV"], (6, 2))


def test_the_bound_ends_it_and_what_is_still_flat_stays():
    assert refill("Abc", "xyZ") == ("AZc", ["xyZ"], (3, 1))
    assert refill("abc", "xy") == ("abc", ["xy"], (2, 0))
    assert refill("abc", "") == ("abc", [], (0, 0))


def test_nothing_is_drawn_when_no_group_is_flat():
    assert refill("ABC", "XY") == ("ABC", [], (0, 0))


def test_a_spare_whose_group_was_lost_is_counted_as_drawn():
    assert refill("Ab", "!Y") == ("AY", ["!Y"], (2, 1))


TEXTS = {
    "mixed": ("right", "wrong"),
    "easy": ("right", "right"),
    "hard": ("wrong", "wrong"),
    "broken": ("broken", "right"),
}


class Scripted:
    """Engines and rewards of a stage: a prompt's name says how its samples end."""

    def __init__(self):
        self.rollouts = self.rewards = self
        self.seeds = []

    def generate(self, requests):
        for index, request in enumerate(requests):
            self.seeds += request.seeds
            texts = TEXTS[request.prompt_id.split("-")[0]]
            yield (
                index,
                tuple(
                    Completion(
                        token_ids=(7,) * (place + 1),
                        rollout_logprobs=(-1.0,) * (place + 1),
                        finish_reason="stop",
                        policy_version=0,
                        text=text,
                    )
                    for place, text in enumerate(texts)
                ),
            )

    def submit(self, requests):
        return [request.response for request in requests]

    def collect(self, ticket):
        outcomes = {
            "right": Outcome(status="ok", correct=True, value=1.0),
            "wrong": Outcome(status="ok"),
            "broken": error("timeout"),
        }
        return [outcomes[text] for text in ticket]


def stage(names, *, prompts_per_step=4, max_refill=0, **sections):
    config = RlConfig(
        steps=1,
        data=DataConfig(
            train="x", prompts_per_step=prompts_per_step, max_refill_prompts=max_refill
        ),
        rollout=RolloutConfig(group_size=2),
        **sections,
    )
    inputs = StageInputs(
        encoder=None,
        reward_names=(),
        prompts_per_step=prompts_per_step,
        max_refill_prompts=max_refill,
        domain_weights={},
        prompts=[make_prompt(name) for name in names],
        examples=(),
        eval_prompts=(),
        canary_prompts=(),
    )
    return config, inputs


NAMES = [f"{kind}-{i}" for i in range(6) for kind in ("mixed", "easy", "hard", "broken")]


def kinds(groups):
    return [group.prompt.id.split("-")[0] for group in groups]


@pytest.mark.parametrize("step", range(6))
def test_a_refilled_step_trains_on_mixed_groups_and_is_repeatable(step):
    plain, refilled, again = (
        collect_groups(*swap(stage(NAMES, max_refill=bound)), step, StepMetrics())
        for bound in (0, 100, 100)
    )
    assert refilled == again
    assert len(refilled) == len(plain)
    assert set(kinds(refilled)) == {"mixed"}
    kept = [group for group in plain if kinds([group]) == ["mixed"]]
    assert [group for group in refilled if group in kept] == kept
    assert len({group.prompt.id for group in refilled}) == len(refilled)


def swap(made):
    config, inputs = made
    return config, Scripted(), inputs


def test_lost_groups_are_counted_and_not_refilled():
    names = ["broken-0", "broken-1", "mixed-0", "easy-0", "hard-0", "mixed-1"]
    log = StepMetrics()
    config, inputs = stage(names, prompts_per_step=6, max_refill=50)
    groups = collect_groups(config, Scripted(), inputs, 0, log)
    # All rows are in the step, so that there is nothing to refill from.
    assert sorted(kinds(groups)) == ["easy", "hard", "mixed", "mixed"]
    assert log.values["reward/dropped_groups"] == 2
    assert (log.values["data/refill_prompts"], log.values["data/refilled_groups"]) == (0, 0)


def test_it_is_off_by_default():
    log = StepMetrics()
    parts = Scripted()
    config, inputs = stage(NAMES, prompts_per_step=24)
    groups = collect_groups(config, parts, inputs, 0, log)
    assert sorted(set(kinds(groups))) == ["easy", "hard", "mixed"]
    assert len(parts.seeds) == 48
    assert not any(key.startswith("data/") for key in log.values)


def test_a_group_that_long2short_trains_on_is_not_refilled():
    length = LengthRewardConfig(lambda_=0.2)
    names = ["easy-0", *(f"mixed-{i}" for i in range(9))]
    for section, is_kept in ((length, True), (replace(length, all_correct="skip"), False)):
        config, inputs = stage(names, prompts_per_step=9, max_refill=9, length_reward=section)
        step = next(
            step
            for step in range(9)
            if "easy-0" in [prompt.id for prompt in inputs.train_prompts(0, step)]
            and inputs.refill_prompts(0, step)
        )
        groups = collect_groups(config, Scripted(), inputs, step, StepMetrics())
        assert ("easy" in kinds(groups)) == is_kept


def test_further_prompts_are_others_than_the_steps_own_and_follow_the_weights():
    prompts = [make_prompt(f"m{i}") for i in range(40)]
    prompts += [make_prompt(f"c{i}", "code") for i in range(40)]
    _, inputs = stage([], prompts_per_step=8, max_refill=12)
    inputs = replace(inputs, prompts=prompts, domain_weights={"math": 3.0, "code": 1.0})
    for step in range(30):
        own = inputs.train_prompts(5, step)
        further = inputs.refill_prompts(5, step)
        assert [prompt.domain for prompt in own].count("code") == 2
        assert 0 < [prompt.domain for prompt in further].count("code") <= 3
        names = {prompt.id for prompt in further}
        assert len(names) == len(further)
        assert not names & {prompt.id for prompt in own}
        assert further == inputs.refill_prompts(5, step)
