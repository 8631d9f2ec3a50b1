"""What a generated task is, and how many different ones are written to a file. Standard library
only."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

_MAX_TRIES = 200
"""Draws of one kind without a new prompt after which it counts as used up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One task with right answers of several lengths."""

    prompt: str
    domain: str
    kind: str
    """Sub-domain, for probing."""
    difficulty: int
    reference: Any
    traces: tuple[str, ...]
    """Worked right answers, the shortest first."""
    fields: dict[str, Any] = field(default_factory=dict)

    def row(self, row_id: str) -> dict[str, Any]:
        """Return the task as a row to sample."""
        return {
            "id": row_id,
            "prompt": self.prompt,
            "domain": self.domain,
            "kind": self.kind,
            "difficulty": self.difficulty,
            "reference": self.reference,
            **self.fields,
        }


Draw = Callable[[random.Random], Task]


def distinct(draws: Sequence[Draw], rng: random.Random) -> Iterator[Task]:
    """Yield tasks, each kind in turn and no prompt twice, until every kind is used up."""
    seen: set[str] = set()
    kinds = list(draws)
    while kinds:
        for draw in list(kinds):
            drawn = (draw(rng) for _ in range(_MAX_TRIES))
            task = next((each for each in drawn if each.prompt not in seen), None)
            if task is None:
                kinds.remove(draw)
                continue
            seen.add(task.prompt)
            yield task


def task_rows(tasks: Iterator[Task], name: str, count: int) -> list[dict[str, Any]]:
    """Return the next `count` tasks as rows to sample."""
    return [task.row(f"{name}-{index:05d}") for index, task in enumerate(islice(tasks, count))]


def traced_rows(tasks: Iterator[Task], name: str, count: int) -> list[dict[str, Any]]:
    """Return the next `count` tasks as rows with a response, one for each of a task's traces."""
    return [
        {**task.row(f"{name}-{index:05d}-{number}"), "response": trace}
        for index, task in enumerate(islice(tasks, count))
        for number, trace in enumerate(task.traces)
    ]


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
