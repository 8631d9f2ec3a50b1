"""Which answer each method gives to a problem, from the same trajectories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mgpo.algorithm.claim_score import choose_cluster, cluster_scores, logprob_weight
from mgpo.algorithm.majority import majority
from mgpo.config.errors import ConfigError
from mgpo.data.rows import Row
from mgpo.stages.answer_clusters import MATH_REWARDS, AnswerClusters, Score, cluster_answers
from mgpo.stages.claims.checking import CheckedTrajectory
from mgpo.stages.scoring import score_request
from mgpo.tracking.sample_store import StoredSample
from rewards.types import Outcome, ScoreRequest

ANSWER_REWARDS = (*MATH_REWARDS, "stem")
"""Rewards of rows whose final answers can be clustered."""

_NO_ANSWER = Outcome(status="ok", correct=False, value=0.0, reason="no answer was extracted")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The cluster that CLR gives of one set of trajectories, with those beside it."""

    clusters: list[dict[str, Any]]
    """answer, correct, score (sum of r), members (places in the set); the best first."""

    @property
    def best(self) -> dict[str, Any] | None:
        """The cluster that is given; None: no trajectory has an answer."""
        return self.clusters[0] if self.clusters else None

    @property
    def is_right(self) -> bool:
        """Whether the answer that is given is right."""
        return self.best is not None and bool(self.best["correct"])


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemAnswers:
    """The answers to one problem: those of its trajectories, and those the model extracted."""

    row: Row
    trajectories: Sequence[CheckedTrajectory]
    own: AnswerClusters
    """Of the answers that the reward finds in the trajectories."""
    extracted: AnswerClusters
    """Of the answers that the model extracted."""
    num_ungraded: int
    """Extracted answers whose grading failed."""

    def sets(self, size: int) -> list[slice]:
        """Return the places of each repeat's `size` trajectories."""
        return [
            slice(first, first + size)
            for first in range(0, len(self.trajectories) - size + 1, size)
        ]

    def majority_is_right(self, part: slice) -> bool:
        """Whether most trajectories of a set agree on a right answer."""
        return _is_right(self.own, majority(self.own.votes[part]))

    def likeliest_is_right(self, part: slice) -> bool | None:
        """As a vote weighted by exp(mean log-prob); None: a voter has no log-probs."""
        votes, members = self.own.votes[part], self.trajectories[part]
        weights = []
        for vote, member in zip(votes, members, strict=True):
            logprob = member.sample.mean_logprob
            if vote is not None and logprob is None:
                return None
            weights.append(0.0 if logprob is None else logprob_weight(logprob))
        return _is_right(self.own, choose_cluster(votes, weights))

    def clr(self, part: slice) -> Choice:
        """Return the clusters of a set by the sum of their trajectories' reliability."""
        votes = self.extracted.votes[part]
        weights = [each.reliability for each in self.trajectories[part]]
        scores = cluster_scores(votes, weights)
        # sorted() keeps the order of votes among equals, as choose_cluster does.
        ordered = sorted(scores, key=lambda cluster: scores[cluster], reverse=True)
        return Choice(
            clusters=[
                {
                    "answer": self.extracted.answers[cluster],
                    "correct": self.extracted.is_right[cluster],
                    "score": scores[cluster][0],
                    "members": [place for place, vote in enumerate(votes) if vote == cluster],
                }
                for cluster in ordered
            ]
        )


def check_answers_are_comparable(name: str, rows: Sequence[Row]) -> None:
    """Raise ConfigError for a benchmark with answers that no rule compares, such as programs."""
    other = next((row for row in rows if row.reward not in ANSWER_REWARDS), None)
    if other is not None:
        raise ConfigError(
            f"benchmarks: {name} has rows of reward {other.reward!r} ({other.where}); answers can "
            f"be clustered for {', '.join(ANSWER_REWARDS)} only: leave the benchmark out"
        )


def find_answers(
    rows: Sequence[Row], checked: Sequence[Sequence[CheckedTrajectory]], score: Score
) -> list[ProblemAnswers]:
    """Cluster the answers of each problem; `score` grades and compares.

    An extracted answer is graded by the problem's reward, as `\\boxed{answer}`. Where extraction
    failed, the answer that the reward found in the trajectory stands in for it, with r = 0; where
    it found that there is none, the trajectory does not vote.
    """
    own = [[each.sample for each in group] for group in checked]
    extracted = _grade_extracted(rows, checked, score)
    return [
        ProblemAnswers(
            row=row,
            trajectories=group,
            own=its_own,
            extracted=its_extracted,
            num_ungraded=sum(
                each.is_valid and not answered.is_valid
                for each, answered in zip(samples, graded, strict=True)
            ),
        )
        for row, group, samples, graded, its_own, its_extracted in zip(
            rows,
            checked,
            own,
            extracted,
            cluster_answers(own, score),
            cluster_answers(extracted, score),
            strict=True,
        )
    ]


def _grade_extracted(
    rows: Sequence[Row], checked: Sequence[Sequence[CheckedTrajectory]], score: Score
) -> list[list[StoredSample]]:
    """Return the trajectories with the verdict on their extracted answer in place of their own;
    equal answers to a problem are graded once."""
    requests: dict[tuple[int, str], ScoreRequest] = {}
    for place, (row, group) in enumerate(zip(rows, checked, strict=True)):
        for each in group:
            if each.extracted is not None and each.extracted.answer is not None:
                answer = each.extracted.answer
                requests.setdefault((place, answer), score_request(row, _boxed(answer)))
    outcomes = dict(zip(requests, score(list(requests.values())), strict=True))

    def graded(place: int, each: CheckedTrajectory) -> StoredSample:
        if each.extracted is None:
            return each.sample
        if each.extracted.answer is None:
            return each.sample.graded(_NO_ANSWER)
        return each.sample.graded(outcomes[place, each.extracted.answer])

    return [[graded(place, each) for each in group] for place, group in enumerate(checked)]


def _boxed(answer: str) -> str:
    return answer if r"\boxed" in answer else rf"\boxed{{{answer.strip('$ ')}}}"


def _is_right(clusters: AnswerClusters, cluster: int | None) -> bool:
    return cluster is not None and clusters.is_right[cluster]
