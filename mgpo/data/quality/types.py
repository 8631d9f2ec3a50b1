"""What a filter is, and what it says of a row that it drops."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mgpo.config.errors import DataError

Record = Mapping[str, Any]
"""A row by our field names: `id`, `prompt`, `domain`, perhaps `response`, `accuracy`, ..."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Why a row is left out; both parts can be written as JSON."""

    reason: str
    """One of the reasons of docs/data.md: what drops are counted by."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """The figures and texts behind it."""


class Filter(Protocol):
    """Judges rows one by one, each by itself."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def judge(self, record: Record) -> Drop | None:
        """Return None for a row to keep. Raises DataError for a field that cannot be judged."""
        ...


def response_of(record: Record) -> str | None:
    """Return the response of a row; None if it has none. Raises DataError unless it is text."""
    response = record.get("response")
    if response is not None and not isinstance(response, str):
        raise DataError(f"{name_of(record)}, field response: must be text, got {response!r:.80}")
    return response


def number_of(record: Record, field_name: str, low: float, high: float) -> float | None:
    """Return a number of a row, or None if it has none. Raises DataError for anything else."""
    value = record.get(field_name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and low <= value <= high):
        raise DataError(
            f"{name_of(record)}, field {field_name}: must be a number from {low:g} to {high:g}, "
            f"got {value!r:.80}"
        )
    return float(value)


def name_of(record: Record) -> str:
    """Return how messages name a row."""
    return f"row {record.get('id')!r}"
