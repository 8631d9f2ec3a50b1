"""A phrase of a text that is repeated over and over without a break."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgpo.data.decontamination import hash_ngrams

_ANCHOR_CHARS = 12
"""A loop is found by strings of so many characters that come again at its period."""
_MAX_PERIODS = 12
"""The most frequent distances between equal anchors that are looked at."""
_ANCHORS_PER_EXCESS = 0.25
"""Of the anchors in a loop so many have the period as their distance; the others come again within
it."""


@dataclass(frozen=True, slots=True)
class Loop:
    """`text[start : start + num_chars]` repeats its first `period` characters."""

    start: int
    num_chars: int
    """The last repetition may break off anywhere."""
    period: int

    @property
    def end(self) -> int:
        """Where the loop has ended."""
        return self.start + self.num_chars

    @property
    def repeats(self) -> float:
        """How many times the phrase stands there, the broken last one as a fraction."""
        return self.num_chars / self.period

    @property
    def excess_chars(self) -> int:
        """What comes after the phrase stood there once."""
        return self.num_chars - self.period


def find_loops(text: str, min_excess_chars: int) -> list[Loop]:
    """Return the longest loop of each likely period, the one with the most excess first.

    A likely period is a frequent distance between equal strings of 12 characters: the time grows as
    n log n, and loops of less excess than twice that may go unseen.
    """
    if len(text) <= max(min_excess_chars, _ANCHOR_CHARS):
        return []
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    loops = [_longest(codes, period) for period in _likely_periods(codes, min_excess_chars)]
    found = [loop for loop in loops if loop.excess_chars >= min_excess_chars]
    return sorted(found, key=lambda loop: (-loop.excess_chars, loop.period))


def _likely_periods(codes: NDArray[np.uint32], min_excess_chars: int) -> list[int]:
    hashes = hash_ngrams(codes.astype(np.uint64), _ANCHOR_CHARS)
    order = np.argsort(hashes, kind="stable")
    is_again = hashes[order[1:]] == hashes[order[:-1]]
    distances, counts = np.unique(np.diff(order)[is_again], return_counts=True)
    is_likely = counts >= _ANCHORS_PER_EXCESS * (min_excess_chars - _ANCHOR_CHARS)
    distances, counts = distances[is_likely], counts[is_likely]
    most = np.argsort(-counts, kind="stable")[:_MAX_PERIODS]
    periods: list[int] = distances[most].tolist()
    return periods


def _longest(codes: NDArray[np.uint32], period: int) -> Loop:
    """Return the longest stretch in which every character equals the one a period before."""
    is_same = np.zeros(len(codes) - period + 2, dtype=np.int8)
    is_same[1:-1] = codes[period:] == codes[:-period]
    edges = np.diff(is_same)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not len(starts):  # anchors whose hashes collided
        return Loop(start=0, num_chars=period, period=period)
    longest = int(np.argmax(ends - starts))
    start, end = int(starts[longest]), int(ends[longest])
    return Loop(start=start, num_chars=end - start + period, period=period)
