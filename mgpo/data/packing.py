"""Which samples share a micro-batch, and which rank takes it. Pure lists."""

from collections.abc import Sequence


def plan_microbatches(
    lengths: Sequence[int], max_tokens: int, num_ranks: int
) -> list[list[list[int]]]:
    """Return, for each rank, its micro-batches as lists of indices into `lengths`.

    Every rank gets the same number of micro-batches, empty ones where it has nothing, so that the
    ranks meet in every collective. Samples of similar length share a micro-batch, and the ranks
    get about equal numbers of tokens. The plan is a pure function of its arguments.

    Raises ValueError if one sample is longer than `max_tokens`.
    """
    if lengths and max(lengths) > max_tokens:
        raise ValueError(
            f"learner.max_tokens_per_microbatch is {max_tokens}, but a sample has {max(lengths)} "
            "tokens; raise it to at least that"
        )
    longest_first = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    ranks: list[list[list[int]]] = [[] for _ in range(num_ranks)]
    for rank, indices in enumerate(_balanced(longest_first, lengths, num_ranks)):
        ranks[rank] = _cut(indices, lengths, max_tokens)
    count = max(1, *(len(microbatches) for microbatches in ranks))
    return [microbatches + [[]] * (count - len(microbatches)) for microbatches in ranks]


def _balanced(
    longest_first: Sequence[int], lengths: Sequence[int], num_ranks: int
) -> list[list[int]]:
    """Give each sample, longest first, to the rank with the fewest tokens."""
    shares: list[list[int]] = [[] for _ in range(num_ranks)]
    totals = [0] * num_ranks
    for index in longest_first:
        rank = totals.index(min(totals))
        shares[rank].append(index)
        totals[rank] += lengths[index]
    return shares


def _cut(indices: Sequence[int], lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    microbatches: list[list[int]] = []
    room = 0
    for index in indices:
        if lengths[index] > room:
            microbatches.append([])
            room = max_tokens
        microbatches[-1].append(index)
        room -= lengths[index]
    return microbatches
