"""The majority among the answers to one problem."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Majority:
    """The largest cluster of equal answers."""

    answer: str
    """Its most frequent spelling."""
    members: tuple[int, ...]
    """Positions of the answers in it."""
    is_tied: bool
    """Another cluster is as large."""


def find_majority(
    answers: Sequence[str | None], is_equal: Callable[[str, str], bool]
) -> Majority | None:
    """Cluster answers and return the largest cluster; None where there is no answer at all.

    None in `answers` is no answer. Spellings are taken from the most frequent on (ties: the first
    to occur); each joins the first cluster whose first spelling it equals, or begins a new one.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    clusters: list[list[str]] = []
    for spelling, _ in counts.most_common():
        cluster = next((each for each in clusters if is_equal(each[0], spelling)), None)
        if cluster is None:
            clusters.append([spelling])
        else:
            cluster.append(spelling)
    if not clusters:
        return None
    sizes = [sum(counts[spelling] for spelling in cluster) for cluster in clusters]
    largest = max(sizes)
    winner = clusters[sizes.index(largest)]
    return Majority(
        answer=winner[0],
        members=tuple(place for place, answer in enumerate(answers) if answer in winner),
        is_tied=sizes.count(largest) > 1,
    )
