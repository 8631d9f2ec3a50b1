"""What each filter decided, in a file of its own that appears when the filter has finished."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgpo.data.quality.types import Drop


@dataclass(frozen=True, slots=True)
class Added:
    """Fields that a row gets."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Untouched:
    """A row that the filter cannot judge, and keeps."""

    why: str


Decision = Drop | Added | Untouched
Decisions = Iterator[tuple[int, Decision]]
"""Numbers of rows, rising, each with what was decided; a row that is just kept is absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A finished filter."""

    name: str
    path: Path

    def decisions(self) -> Decisions:
        """Read the file."""
        with self.path.open(encoding="ascii") as file:
            for line in file:
                number, kind, value = json.loads(line)
                yield number, _READERS[kind](value)

    def untouched(self) -> Counter[str]:
        """Count the rows that could not be judged, by why."""
        kinds = (decision for _, decision in self.decisions())
        return Counter(decision.why for decision in kinds if isinstance(decision, Untouched))


def write_outcome(outcome: Outcome, decisions: Iterable[tuple[int, Decision]]) -> None:
    """Write the file of a filter; a killed writer leaves none."""
    unfinished = outcome.path.with_name(f".{outcome.path.name}.unfinished")
    with unfinished.open("w", encoding="ascii") as file:
        for number, decision in decisions:
            file.write(json.dumps([number, *_plain(decision)], default=str) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, outcome.path)


def _plain(decision: Decision) -> tuple[str, Any]:
    if isinstance(decision, Drop):
        return "drop", {"reason": decision.reason, "detail": dict(decision.detail)}
    if isinstance(decision, Added):
        return "add", dict(decision.fields)
    return "untouched", decision.why


_READERS: Mapping[str, Any] = {
    "drop": lambda value: Drop(value["reason"], value["detail"]),
    "add": Added,
    "untouched": Untouched,
}
