"""Finished groups go to the rewards as they arrive, and come back with a verdict each."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mgpo.config.errors import UserError
from mgpo.data.rows import Row, problem_of
from mgpo.types import Completion, Group, Prompt, Sample
from rewards.record import RewardErrorRate
from rewards.registry import takes_token_ids
from rewards.requests import reward_names
from rewards.self_test import SelfTestFailed
from rewards.service import RewardService
from rewards.types import Outcome, ScoreRequest

TRUNCATED = Outcome(status="ok", correct=False, value=0.0, reason="truncated")
"""The verdict on a completion that the length limit ended."""


def score_groups(
    rewards: RewardService,
    prompts: Sequence[Prompt],
    finished: Iterable[tuple[int, tuple[Completion, ...]]],
) -> list[Group]:
    """Grade each group while others are still being generated.

    `finished` yields (index into `prompts`, completions) in any order. The groups come back in the
    order of `prompts`; a prompt whose generation failed is absent. Samples whose grading failed
    are left out of their group and counted in it. A truncated completion is wrong, ungraded.
    Raises UserError when too many gradings fail, or an audit finds a wrong verdict.
    """
    pending = []
    for index, completions in finished:
        whole = [completion for completion in completions if not completion.is_truncated]
        ticket = rewards.submit(
            [score_request(prompts[index], each.text, each.token_ids) for each in whole]
        )
        pending.append((index, completions, ticket))
    groups = {}
    for index, completions, ticket in pending:
        try:
            outcomes = iter(rewards.collect(ticket))
        except (RewardErrorRate, SelfTestFailed) as error:
            raise UserError(str(error)) from error
        groups[index] = _group(
            prompts[index],
            completions,
            [TRUNCATED if done.is_truncated else next(outcomes) for done in completions],
        )
    return [groups[index] for index in sorted(groups)]


def score_request(
    task: Prompt | Row, response: str, token_ids: Sequence[int] | None = None
) -> ScoreRequest:
    """Ask the task's reward about a response; `token_ids`, where they are known, go to functions
    that name them."""
    fields = {"problem": problem_of(task.messages), **task.fields}
    names = reward_names(task.reward, task.reference)
    if token_ids is not None and any(map(takes_token_ids, names)):
        fields["completion_ids"] = list(token_ids)
    return ScoreRequest(
        reward=task.reward,
        response=response,
        reference=task.reference,
        fields=fields,
        item_id=task.id,
    )


def _group(prompt: Prompt, completions: Sequence[Completion], outcomes: Sequence[Outcome]) -> Group:
    # Where wrong answers earn less than 0, running into the length limit must not earn more.
    lowest = min((each.value for each in outcomes if each.is_valid), default=0.0)
    truncated = replace(TRUNCATED, value=min(0.0, lowest))
    outcomes = [truncated if each is TRUNCATED else each for each in outcomes]
    samples = tuple(
        Sample(
            prompt=prompt,
            completion=completion,
            outcome=outcome,
            reward=outcome.value,
        )
        for completion, outcome in zip(completions, outcomes, strict=True)
        if outcome.is_valid
    )
    return Group(prompt=prompt, samples=samples, num_errors=len(completions) - len(samples))
