"""The metrics of one step, each under `area/name`."""

import json
import logging
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

AREAS = frozenset({"reward", "rollout", "loss", "mismatch", "learner", "sync", "time", "eval"})


class StepMetrics:
    """Collects what one step measured; a key is set once."""

    def __init__(self) -> None:
        self.values: dict[str, float | None] = {}
        self._started = time.monotonic()

    def add(self, metrics: Mapping[str, float]) -> None:
        """Add numbers. A number that is not finite becomes None, with a warning."""
        for key, value in metrics.items():
            area, _, name = key.partition("/")
            assert area in AREAS, f"metric {key}: area must be one of {sorted(AREAS)}"
            assert name, f"metric {key} needs a name behind its area"
            assert key not in self.values, f"metric {key} is set twice in one step"
            if not math.isfinite(value):
                logger.warning("metric %s is %s", key, value)
            self.values[key] = value if math.isfinite(value) else None

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Measure a block as `time/<name>_s`."""
        started = time.monotonic()
        yield
        self.add({f"time/{name}_s": time.monotonic() - started})

    @property
    def elapsed_s(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._started


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Return the records of a metrics.jsonl, oldest first; a torn last line is left out."""
    records = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                logger.warning("%s: leaving out a torn line", path)
                continue
            records.append({key: value for key, value in record.items() if value is not None})
    return records
