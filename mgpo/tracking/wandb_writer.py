"""Weights & Biases, best effort: it never blocks a step and never ends a run.

All calls happen on one thread behind a bounded queue; what does not fit, or fails, is dropped,
counted and warned about once. metrics.jsonl has everything.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mgpo.config.tracking import TrackingConfig

logger = logging.getLogger(__name__)

_QUEUE_SIZE = 256
_CLOSE_S = 30.0

Record = Mapping[str, Any]


class Backend(Protocol):
    """What the writer needs of a W&B run."""

    def log(self, record: Record, samples: Sequence[Record]) -> None:
        """Send one step."""

    def finish(self) -> None:
        """Flush and close."""


class WandbRun:
    """A W&B run with our own step axis; the same id continues it after a resume."""

    def __init__(
        self, config: TrackingConfig, directory: Path, run_id: str, name: str, settings: Record
    ) -> None:
        import wandb

        directory.mkdir(parents=True, exist_ok=True)
        self._wandb = wandb
        self._run = wandb.init(
            project=config.project,
            entity=config.entity,
            name=name,
            id=run_id,
            resume="allow",
            dir=directory,
            mode=_mode(config),
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off"),
        )
        # W&B's own counter must only grow, which a resumed run breaks; our axis may not.
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def log(self, record: Record, samples: Sequence[Record]) -> None:
        """Send the metrics of a step, with a table of a few of its samples."""
        data = dict(record)
        if samples:
            columns = list(samples[0])
            rows = [[str(sample[column]) for column in columns] for sample in samples]
            data["samples"] = self._wandb.Table(columns=columns, data=rows)
        self._run.log(data)

    def finish(self) -> None:
        """Flush and close."""
        self._run.finish()


def _mode(config: TrackingConfig) -> str:
    if config.wandb != "auto":
        return config.wandb
    has_key = os.environ.get("WANDB_API_KEY") or (
        (Path.home() / ".netrc").exists()
        and "api.wandb.ai" in (Path.home() / ".netrc").read_text(errors="ignore")
    )
    return "online" if has_key else "offline"


class WandbWriter:
    """The queue and its thread."""

    def __init__(self, make_backend: Callable[[], Backend], *, close_s: float = _CLOSE_S) -> None:
        self._queue: queue.Queue[tuple[Record, Sequence[Record]] | None] = queue.Queue(_QUEUE_SIZE)
        self._make_backend = make_backend
        self._close_s = close_s
        self._has_warned = False
        self.num_dropped = 0
        """Steps that W&B did not get."""
        self._thread = threading.Thread(target=self._serve, daemon=True, name="wandb")
        self._thread.start()

    def write(self, step: int, values: Record, samples: Sequence[Record] = ()) -> None:
        """Hand over one step; returns at once."""
        record = {
            "step": step,
            **{key: value for key, value in values.items() if value is not None},
        }
        try:
            self._queue.put_nowait((record, samples))
        except queue.Full:
            self._drop("W&B is too slow")

    def close(self) -> None:
        """Give the thread some seconds to send what is queued."""
        try:
            self._queue.put(None, timeout=self._close_s)
        except queue.Full:
            self._drop("W&B does not take its last steps")
            return
        self._thread.join(self._close_s)
        if self._thread.is_alive():
            logger.warning("W&B did not finish within %.0f s; metrics.jsonl has all", self._close_s)

    def _serve(self) -> None:
        backend: Backend | None = None
        while (item := self._queue.get()) is not None:
            try:
                backend = backend or self._make_backend()
                backend.log(*item)
            except Exception as problem:  # a remote service: whatever it raises, training goes on
                self._drop(f"{type(problem).__name__}: {problem}")
        if backend is not None:
            try:
                backend.finish()
            except Exception as problem:  # as above
                self._drop(f"{type(problem).__name__}: {problem}")

    def _drop(self, why: str) -> None:
        self.num_dropped += 1
        if not self._has_warned:
            self._has_warned = True
            logger.warning("W&B misses at least one step (%s); metrics.jsonl has all", why)
