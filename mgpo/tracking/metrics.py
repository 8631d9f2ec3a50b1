"""The metrics of one step, each under `area/name`. docs/metrics.md says what each one means."""

import json
import logging
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path

logger = logging.getLogger(__name__)

AREAS = (
    "reward",
    "rollout",
    "loss",
    "learner",
    "mismatch",
    "sync",
    "time",
    "eval",
    "sft",
    "data",
)
_KEY = re.compile(rf"({'|'.join(AREAS)})/[A-Za-z0-9_.@-]+")

Record = Mapping[str, float | None]


class StepMetrics:
    """Collects what one step measured; a key is set once."""

    def __init__(self) -> None:
        self.values: dict[str, float | None] = {}
        self.num_not_finite = 0
        """Values that were NaN or infinite; they are recorded as None."""
        self._started = time.monotonic()

    def add(self, metrics: Mapping[str, float]) -> None:
        """Add numbers. Raises ValueError for a key of another form, or one that is set already."""
        for key, value in metrics.items():
            if not _KEY.fullmatch(key):
                raise ValueError(f"metric {key!r}: a key is area/name, area one of {AREAS}")
            if key in self.values:
                raise ValueError(f"metric {key} is set twice in one step")
            if not isinstance(value, Real):
                raise ValueError(f"metric {key} must be a number, got {type(value).__name__}")
            self.values[key] = self._checked(key, value)

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Measure a block as `time/<name>_s`."""
        started = time.monotonic()
        yield
        self.add({f"time/{name}_s": time.monotonic() - started})

    def finish(self) -> Record:
        """Add `time/step_s`, the seconds since the step began, and return the record."""
        self.add({"time/step_s": time.monotonic() - self._started})
        return self.values

    def _checked(self, key: str, value: Real) -> float | None:
        number = float(value)
        if not math.isfinite(number):
            self.num_not_finite += 1
            logger.warning("metric %s is %s", key, number)
            return None
        return int(value) if isinstance(value, Integral) else number


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file that ends in the middle of one if its writer was killed."""
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Return the records of a metrics.jsonl, oldest first, without values that were not finite."""
    records = [json.loads(line) for line in whole_lines(path)]
    return [
        {key: value for key, value in record.items() if value is not None} for record in records
    ]
