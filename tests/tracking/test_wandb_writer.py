"""W&B that fails, hangs or is slow, seen from the training loop."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mgpo.tracking.wandb_writer import WandbWriter


class RecordingBackend:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.is_finished = False

    def log(
        self, step: int, record: Mapping[str, float], samples: Sequence[Mapping[str, Any]]
    ) -> None:
        self.steps.append(step)

    def finish(self) -> None:
        self.is_finished = True


class HangingBackend(RecordingBackend):
    """Never returns from its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    def log(
        self, step: int, record: Mapping[str, float], samples: Sequence[Mapping[str, Any]]
    ) -> None:
        self.release.wait()


class FailingBackend(RecordingBackend):
    """Refuses the odd steps, and to finish."""

    def log(
        self, step: int, record: Mapping[str, float], samples: Sequence[Mapping[str, Any]]
    ) -> None:
        if step % 2:
            raise ConnectionError(f"step {step}")
        super().log(step, record, samples)

    def finish(self) -> None:
        raise ConnectionError("finish")


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_every_step_arrives_before_close_returns() -> None:
    backend = RecordingBackend()
    writer = WandbWriter(lambda: backend)
    for step in range(50):
        writer.write(step, {"reward/mean": 1.0})
    writer.close()
    assert backend.steps == list(range(50))
    assert backend.is_finished
    assert writer.num_dropped == 0


def test_hanging_backend_costs_steps_and_one_warning_but_no_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = HangingBackend()
    writer = WandbWriter(lambda: backend, close_s=0.2)
    started = time.monotonic()
    for step in range(200):
        writer.write(step, {"reward/mean": 1.0})
    assert time.monotonic() - started < 0.2
    started = time.monotonic()
    writer.close()
    assert time.monotonic() - started < 1.0
    assert 200 - 64 - 1 <= writer.num_dropped <= 200 - 64  # one is in the call, 64 are queued
    assert len(_warnings(caplog)) == 1
    backend.release.set()


def test_start_that_hangs_holds_up_neither_steps_nor_the_end() -> None:
    release = threading.Event()

    def start() -> RecordingBackend:
        release.wait()
        return RecordingBackend()

    started = time.monotonic()
    writer = WandbWriter(start, close_s=0.2)
    writer.write(1, {"reward/mean": 1.0})
    writer.close()
    assert time.monotonic() - started < 1.0
    release.set()


def test_start_that_fails_drops_every_step_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def start() -> RecordingBackend:
        raise PermissionError("no key\nand a long story")

    writer = WandbWriter(start)
    for step in range(100):
        writer.write(step, {"reward/mean": 1.0})
    writer.close()
    assert writer.num_dropped == 100
    assert _warnings(caplog) == [
        "W&B misses something: PermissionError: no key; metrics.jsonl has all"
    ]


def test_failing_calls_cost_their_own_step_only(caplog: pytest.LogCaptureFixture) -> None:
    backend = FailingBackend()
    writer = WandbWriter(lambda: backend)
    for step in range(10):
        writer.write(step, {"reward/mean": 1.0})
    writer.close()
    assert backend.steps == [0, 2, 4, 6, 8]
    assert writer.num_dropped == 5
    assert len(_warnings(caplog)) == 1
