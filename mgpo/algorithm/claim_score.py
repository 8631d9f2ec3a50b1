"""Claim-level reliability (CLR): the answer whose trajectories make claims that hold.

The score is that of the VibeThinker-3B report (arXiv 2606.16140). What to do with ties and with
missing claims is ours.
"""

import math
from collections.abc import Sequence


def reliability(verdicts: Sequence[float], num_claims: int) -> float:
    """Return r = (mean of the verdicts) ** num_claims of one trajectory, from 0 to 1.

    A verdict is 1 (or True) for a claim that holds, 0 for one that does not. `num_claims` is M, the
    number of claims that were asked for: with fewer verdicts the mean is over those there are and
    the exponent stays M; without any r is 0. Raises ValueError for M < 1.
    """
    if num_claims < 1:
        raise ValueError(f"the number of claims must be at least 1, got {num_claims}")
    if not verdicts:
        return 0.0
    return float((sum(verdicts) / len(verdicts)) ** num_claims)


def logprob_weight(mean_logprob: float) -> float:
    """Return exp(mean log-prob), the geometric mean of a trajectory's token probabilities."""
    return math.exp(mean_logprob)


def cluster_scores(
    votes: Sequence[int | None], weights: Sequence[float]
) -> dict[int, tuple[float, int]]:
    """Return (sum of the weights, number of trajectories) of each cluster, in the order of votes.

    `votes` has each trajectory's cluster of equal answers; None, no answer, votes for nothing.
    Sums are rounded once (fsum), so that equal weights in another order tie.
    """
    members: dict[int, list[float]] = {}
    for vote, weight in zip(votes, weights, strict=True):
        if vote is not None:
            members.setdefault(vote, []).append(weight)
    return {cluster: (math.fsum(its), len(its)) for cluster, its in members.items()}


def choose_cluster(votes: Sequence[int | None], weights: Sequence[float]) -> int | None:
    """Return the cluster with the largest sum of weights; None without a vote.

    Ties go to the larger cluster, then to the one that was voted for first.
    """
    scores = cluster_scores(votes, weights)
    return max(scores, key=lambda cluster: scores[cluster], default=None)
