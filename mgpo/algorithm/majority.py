"""maj@K: the answer that most of K samples give."""

from collections import Counter
from collections.abc import Sequence


def majority_share(votes: Sequence[int | None], is_right: Sequence[bool], k: int) -> float:
    """Return how often the majority of k samples of one problem is right.

    `votes` has each sample's cluster of equal answers, None for a sample without an answer, which
    does not vote; `is_right` has the verdict on each cluster. The mean over the n // k disjoint
    runs of k samples in their order, so that none is used twice. Of clusters with equally many
    votes the one that was voted for first wins; without any vote the problem is wrong. Raises
    ValueError for k > n.
    """
    if not 1 <= k <= len(votes):
        raise ValueError(
            f"maj@{k} needs 1 <= k <= the number of samples, got {len(votes)} samples; "
            "sample more or lower k"
        )
    runs = [votes[first : first + k] for first in range(0, len(votes) - k + 1, k)]
    winners = [majority(run) for run in runs]
    return sum(winner is not None and is_right[winner] for winner in winners) / len(runs)


def majority(votes: Sequence[int | None]) -> int | None:
    """Return the cluster with most votes, the first voted for of several; None without a vote."""
    counts = Counter(vote for vote in votes if vote is not None)  # in the order of the votes
    return counts.most_common(1)[0][0] if counts else None
