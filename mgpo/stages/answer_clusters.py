"""Which samples of a problem give the same answer, by the equivalence of the math reward."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mgpo.tracking.sample_store import StoredSample
from rewards.types import Outcome, ScoreRequest

logger = logging.getLogger(__name__)

MATH_REWARDS = ("math", "math_judge")
"""Rewards whose `detail.extracted` is a final answer that the math reward can compare."""

Score = Callable[[Sequence[ScoreRequest]], Sequence[Outcome]]


@dataclass(slots=True)
class AnswerClusters:
    """The answers of one problem's samples."""

    votes: list[int | None]
    """Cluster of each sample; None: no answer, or a truncated one."""
    answers: list[str] = field(default_factory=list)
    """The first answer of each cluster."""
    is_right: list[bool] = field(default_factory=list)
    """The verdict on that answer."""


def cluster_answers(groups: Sequence[Sequence[StoredSample]], score: Score) -> list[AnswerClusters]:
    """Return the clusters of each problem's samples, given per problem.

    An answer joins the first cluster whose first answer it equals; equal texts are not compared
    twice. Two that can't be compared (`5 +` is no reference) are two answers. Problems are compared
    side by side: round r asks about the r-th distinct answer of each.
    """
    clusters = [AnswerClusters(votes=[None] * len(group)) for group in groups]
    distinct = [_distinct_answers(group) for group in groups]
    num_failed = 0
    for turn in range(max((len(answers) for answers in distinct), default=0)):
        asked = [
            (index, list(answers)[turn])
            for index, answers in enumerate(distinct)
            if turn < len(answers)
        ]
        requests = [
            ScoreRequest(reward="math", response=rf"\boxed{{{answer}}}", reference=known)
            for index, answer in asked
            for known in clusters[index].answers
        ]
        outcomes = score(requests)
        num_failed += sum(not outcome.is_valid for outcome in outcomes)
        verdicts = iter(outcomes)
        for index, answer in asked:
            equal = [_is_equal(next(verdicts)) for _ in clusters[index].answers]
            _join(clusters[index], groups[index], distinct[index][answer], answer, equal)
    if num_failed:
        logger.info("answers: %d comparisons failed; their answers count as different", num_failed)
    return clusters


def _is_equal(outcome: Outcome) -> bool:
    return outcome.is_valid and outcome.correct


def _distinct_answers(group: Sequence[StoredSample]) -> dict[str, list[int]]:
    """Return the places of each text that is an answer."""
    places: dict[str, list[int]] = {}
    for place, sample in enumerate(group):
        answer = str(sample.outcome.detail.get("extracted") or "").strip()
        if answer and sample.is_valid and not sample.is_truncated:
            places.setdefault(answer, []).append(place)
    return places


def _join(
    clusters: AnswerClusters,
    group: Sequence[StoredSample],
    places: Sequence[int],
    answer: str,
    equal: Sequence[bool],
) -> None:
    """Put the samples at `places` into the first cluster that is equal, or into a new one."""
    if True in equal:
        label = equal.index(True)
    else:
        label = len(clusters.answers)
        clusters.answers.append(answer)
        clusters.is_right.append(group[places[0]].is_correct)
    for place in places:
        clusters.votes[place] = label
