"""metrics.jsonl, the truth about a run: one line per step, never a step twice."""

import json
import logging
import os
from pathlib import Path
from typing import TextIO

from mgpo.tracking.files import write_atomically
from mgpo.tracking.metrics import Record, whole_lines

logger = logging.getLogger(__name__)


class JsonlWriter:
    """Appends a record per step and flushes it to disk."""

    _file: TextIO
    _last_step: int

    def __init__(self, path: Path, resumed_step: int | None) -> None:
        """Drop what lies after the checkpoint, since those steps run again; None: start anew."""
        self._path = path
        self._keep_until(-1 if resumed_step is None else resumed_step)

    def write(self, step: int, record: Record) -> None:
        """Append one step; one that is there already keeps its values and gets those it lacks, as
        an evaluation made up for needs it; all after it are dropped."""
        if step <= self._last_step:
            self._file.close()
            record = {**record, **self._read(step)}
            self._keep_until(step - 1)
        self._file.write(json.dumps({"step": step, **dict(sorted(record.items()))}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._last_step = step

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, step: int) -> Record:
        for record in map(json.loads, whole_lines(self._path)):
            if record.pop("step") == step:
                return dict(record)
        return {}

    def _keep_until(self, step: int) -> None:
        lines = whole_lines(self._path)
        kept = [line for line in lines if json.loads(line)["step"] <= step]
        if len(kept) < len(lines):
            logger.info("%s: dropping %d steps after %d", self._path, len(lines) - len(kept), step)
        write_atomically(self._path, "".join(f"{line}\n" for line in kept))
        self._last_step = json.loads(kept[-1])["step"] if kept else -1
        self._file = self._path.open("a", encoding="utf-8")
