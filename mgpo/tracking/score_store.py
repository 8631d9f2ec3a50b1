"""Scores of traces: a line each, appended as they are computed, so that a run that was cut goes on
where it was."""

import json
from collections.abc import Mapping
from pathlib import Path

from mgpo.tracking.files import write_atomically
from mgpo.tracking.metrics import whole_lines

ScoreKey = tuple[str, int, str]
"""Id of the prompt, index of the sample, digest of its text."""


class ScoreStore:
    """The scores of one stage, in one JSON-lines file."""

    def __init__(self, path: Path) -> None:
        """Read what is there, without the line that a killed writer left unfinished."""
        lines = whole_lines(path)
        self._scores: dict[ScoreKey, float] = {}
        for record in map(json.loads, lines):
            key = (record["prompt_id"], record["sample_index"], record["text_digest"])
            self._scores[key] = record["score"]
        write_atomically(path, "".join(f"{line}\n" for line in lines))
        self._file = path.open("a", encoding="utf-8")

    def add(self, scores: Mapping[ScoreKey, float]) -> None:
        """Append the scores that are not there; they outlive this process from here on."""
        for key, score in scores.items():
            if key not in self._scores:
                self._scores[key] = score
                names = ("prompt_id", "sample_index", "text_digest", "score")
                record = dict(zip(names, (*key, score), strict=True))
                self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def __contains__(self, key: ScoreKey) -> bool:
        return key in self._scores

    def __getitem__(self, key: ScoreKey) -> float:
        return self._scores[key]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
