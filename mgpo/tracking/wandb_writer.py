"""Weights & Biases, best effort: it never blocks a step and never ends a run.

All calls happen on one thread behind a bounded queue; what does not fit, or fails, is dropped,
counted and warned about once. metrics.jsonl has everything.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mgpo.tracking.metrics import Record

logger = logging.getLogger(__name__)

_QUEUE_SIZE = 64
_CLOSE_S = 10.0

_Samples = Sequence[Mapping[str, Any]]
_Step = tuple[int, Mapping[str, float], _Samples]


class WandbBackend(Protocol):
    """What the writer needs of a W&B run."""

    def log(self, step: int, record: Mapping[str, float], samples: _Samples) -> None:
        """Send one step."""

    def finish(self) -> None:
        """Flush and close."""


class WandbWriter:
    """The queue and its thread."""

    def __init__(self, start: Callable[[], WandbBackend], *, close_s: float = _CLOSE_S) -> None:
        """`start` runs on the thread; if it raises, every step is dropped."""
        self._start = start
        self._close_s = close_s
        self._queue: queue.Queue[_Step | None] = queue.Queue(_QUEUE_SIZE)
        self._lock = threading.Lock()
        self._has_warned = False
        self.num_dropped = 0
        """Steps that W&B did not get."""
        self._thread = threading.Thread(target=self._serve, daemon=True, name="wandb")
        self._thread.start()

    def write(self, step: int, record: Record, samples: _Samples = ()) -> None:
        """Hand over one step; returns at once."""
        finite = {key: value for key, value in record.items() if value is not None}
        try:
            self._queue.put_nowait((step, finite, samples))
        except queue.Full:
            self._drop("it is too slow")

    def close(self) -> None:
        """Give the thread some seconds to send what is queued."""
        deadline = time.monotonic() + self._close_s
        try:
            self._queue.put(None, timeout=self._close_s)
        except queue.Full:
            self._warn("it did not take its last steps")
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._warn(f"it did not finish within {self._close_s:.0f} s")
        if self.num_dropped:
            logger.info("W&B: %d steps were dropped", self.num_dropped)

    def _serve(self) -> None:
        # The exceptions are of a remote service: whatever it raises, training goes on.
        backend = None
        try:
            backend = self._start()
        except Exception as error:
            self._warn(_describe(error))
        while (item := self._queue.get()) is not None:
            try:
                if backend is None:
                    self._drop("it did not start")
                else:
                    backend.log(*item)
            except Exception as error:
                self._drop(_describe(error))
        try:
            if backend is not None:
                backend.finish()
        except Exception as error:
            self._warn(_describe(error))

    def _drop(self, reason: str) -> None:
        with self._lock:
            self.num_dropped += 1
        self._warn(reason)

    def _warn(self, reason: str) -> None:
        with self._lock:
            is_first, self._has_warned = not self._has_warned, True
        if is_first:
            logger.warning("W&B misses something: %s; metrics.jsonl has all", reason)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
