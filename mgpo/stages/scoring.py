"""Finished groups go to the rewards as they arrive, and come back with a verdict each."""

from collections.abc import Iterable, Sequence

from mgpo.config.errors import UserError
from mgpo.types import Completion, Group, Prompt, Sample
from rewards.service import RewardErrorRate, RewardService
from rewards.types import Outcome, ScoreRequest

_TRUNCATED = Outcome(status="ok", correct=False, value=0.0, reason="truncated")


def score_groups(
    rewards: RewardService,
    prompts: Sequence[Prompt],
    finished: Iterable[tuple[int, tuple[Completion, ...]]],
) -> list[Group]:
    """Grade each group while others are still being generated.

    `finished` yields (index into `prompts`, completions) in any order. The groups come back in the
    order of `prompts`; a prompt whose generation failed is absent. Samples whose grading failed
    are left out of their group and counted in it. A truncated completion is wrong, ungraded.
    Raises UserError when too many gradings fail.
    """
    pending = []
    for index, completions in finished:
        whole = [completion for completion in completions if not completion.is_truncated]
        ticket = rewards.submit([_request(prompts[index], completion) for completion in whole])
        pending.append((index, completions, ticket))
    groups = {}
    for index, completions, ticket in pending:
        try:
            outcomes = iter(rewards.collect(ticket))
        except RewardErrorRate as error:
            raise UserError(str(error)) from error
        groups[index] = _group(
            prompts[index],
            completions,
            [_TRUNCATED if done.is_truncated else next(outcomes) for done in completions],
        )
    return [groups[index] for index in sorted(groups)]


def _request(prompt: Prompt, completion: Completion) -> ScoreRequest:
    return ScoreRequest(
        reward=prompt.reward,
        response=completion.text,
        reference=prompt.reference,
        fields=prompt.fields,
        item_id=prompt.id,
    )


def _group(prompt: Prompt, completions: Sequence[Completion], outcomes: Sequence[Outcome]) -> Group:
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
