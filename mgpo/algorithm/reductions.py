"""Metrics that merge exactly over micro-batches and ranks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, kept as its sum and count."""

    total: float
    count: float

    def merge(self, other: Self) -> "Mean":
        """Join two parts."""
        return Mean(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """The mean; 0 over nothing."""
        return self.total / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum."""

    total: float

    def merge(self, other: Self) -> "Sum":
        """Join two parts."""
        return Sum(self.total + other.total)

    @property
    def value(self) -> float:
        """The sum."""
        return self.total


@dataclass(frozen=True, slots=True)
class Max:
    """A maximum."""

    largest: float

    def merge(self, other: Self) -> "Max":
        """Join two parts."""
        return Max(max(self.largest, other.largest))

    @property
    def value(self) -> float:
        """The maximum."""
        return self.largest


@dataclass(frozen=True, slots=True)
class EffectiveShare:
    """Effective sample size of importance weights over their number: (sum w)^2 / (n sum w^2)."""

    total: float
    total_sq: float
    count: float

    def merge(self, other: Self) -> "EffectiveShare":
        """Join two parts."""
        return EffectiveShare(
            self.total + other.total, self.total_sq + other.total_sq, self.count + other.count
        )

    @property
    def value(self) -> float:
        """In (0, 1]; 1 over nothing."""
        if not self.total_sq:
            return 1.0
        return min(1.0, self.total**2 / (self.count * self.total_sq))


Reduction = Mean | Sum | Max | EffectiveShare
Reductions = dict[str, Reduction]


def merge_all(parts: Iterable[Mapping[str, Reduction]]) -> Reductions:
    """Merge the metrics of several parts; a key may be absent from some."""
    merged: Reductions = {}
    for part in parts:
        for key, reduction in part.items():
            merged[key] = merged[key].merge(reduction) if key in merged else reduction  # type: ignore[arg-type]
    return merged
