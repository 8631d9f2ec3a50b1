"""Groups meet their verdicts: order, errors, truncation."""

from dataclasses import replace

from mgpo.config.rollout import RolloutConfig
from mgpo.stages.sampling import training_requests
from mgpo.stages.scoring import score_groups
from mgpo.types import Completion, Prompt
from rewards.types import Outcome, error


class ScriptedRewards:
    """Grades by the text itself: right, wrong or broken."""

    def __init__(self):
        self.asked = []
        self.fields = []

    def submit(self, requests):
        self.asked += [request.response for request in requests]
        self.fields += [request.fields for request in requests]
        return requests

    def collect(self, ticket):
        verdicts = {
            "right": Outcome(status="ok", correct=True, value=1.0),
            "wrong": Outcome(status="ok"),
            "broken": error("timeout"),
        }
        return [verdicts[request.response] for request in ticket]


def make_prompt(name):
    return Prompt(
        id=name,
        messages=(),
        token_ids=(1,),
        domain="math",
        reward="math",
        reference="1",
    )


def completion(text, reason="stop"):
    return Completion(
        token_ids=(7,), rollout_logprobs=(-1.0,), finish_reason=reason, policy_version=0, text=text
    )


def test_groups_come_in_the_order_of_their_prompts_with_their_own_verdicts():
    prompts = [make_prompt(name) for name in "abc"]
    finished = [
        (2, (completion("right"), completion("wrong"))),
        (0, (completion("wrong"), completion("wrong"))),
    ]
    groups = score_groups(ScriptedRewards(), prompts, iter(finished))
    assert [group.prompt.id for group in groups] == ["a", "c"]
    assert [sample.reward for sample in groups[1].samples] == [1.0, 0.0]


def test_failed_gradings_leave_their_group_and_are_counted():
    finished = [(0, (completion("broken"), completion("right"), completion("broken")))]
    (group,) = score_groups(ScriptedRewards(), [make_prompt("a")], finished)
    assert group.num_errors == 2
    assert [sample.completion.text for sample in group.samples] == ["right"]


def test_truncated_completions_are_wrong_without_being_graded():
    rewards = ScriptedRewards()
    finished = [(0, (completion("right", "length"), completion("right")))]
    (group,) = score_groups(rewards, [make_prompt("a")], finished)
    assert rewards.asked == ["right"]
    assert [sample.is_correct for sample in group.samples] == [False, True]
    assert [sample.reward for sample in group.samples] == [0.0, 1.0]
    assert group.samples[0].outcome.reason == "truncated"


def test_a_prompt_that_comes_twice_gets_other_seeds():
    config = RolloutConfig(group_size=4)
    prompts = [make_prompt("a"), make_prompt("b"), make_prompt("a")]
    requests = training_requests(prompts, config, seed=1, step=3)
    seeds = [seed for request in requests for seed in request.seeds]
    assert len(set(seeds)) == 12
    again = training_requests(prompts, config, seed=1, step=3)
    assert [request.seeds for request in again] == [request.seeds for request in requests]
    assert training_requests(prompts, config, seed=1, step=4)[0].seeds != requests[0].seeds


def test_rewards_are_told_the_problem_unless_the_row_says_another():
    user = {"role": "user", "content": "What is 1?"}
    prompts = [
        replace(make_prompt("a"), messages=({"role": "system", "content": "Think."}, user)),
        replace(make_prompt("b"), messages=(user,), fields={"problem": "Other?"}),
    ]
    rewards = ScriptedRewards()
    score_groups(rewards, prompts, [(0, (completion("right"),)), (1, (completion("right"),))])
    assert [fields["problem"] for fields in rewards.fields] == ["What is 1?", "Other?"]
