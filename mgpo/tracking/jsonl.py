"""metrics.jsonl, the truth about a run: one line per step, never a step twice."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from mgpo.tracking.files import write_atomically
from mgpo.tracking.metrics import read_metrics


class JsonlWriter:
    """Appends a record per step and flushes it to disk."""

    def __init__(self, path: Path, resumed_step: int | None) -> None:
        kept = [] if resumed_step is None else _until(path, resumed_step)
        write_atomically(path, "".join(f"{json.dumps(record)}\n" for record in kept))
        self._file = path.open("a", encoding="utf-8")

    def write(self, step: int, values: Mapping[str, float | None]) -> None:
        """Append one step."""
        record = {"step": step, **dict(sorted(values.items()))}
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _until(path: Path, step: int) -> list[dict[str, float]]:
    """Drop what came after the checkpoint: those steps run again."""
    return [record for record in read_metrics(path) if record["step"] <= step]
