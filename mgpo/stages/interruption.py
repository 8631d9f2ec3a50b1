"""SIGINT and SIGTERM become one exception, raised at a moment when the state can be saved."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from mgpo.config.errors import Interrupted


class Interruption:
    """While open, a first signal raises Interrupted; inside `deferred` it waits for the block's
    end. A second one stops at once."""

    def __init__(self) -> None:
        self._is_deferring = False
        self._received: int | None = None
        self.is_forced = False
        """A second signal came: stop without saving."""
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Keep weights and state in step: a signal is acted on when the block has ended."""
        self._is_deferring = True
        try:
            yield
        finally:
            self._is_deferring = False
        if self._received is not None:
            raise self._interrupted(self._received)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Inside `deferred`: act on a signal at once, also on one that waits already."""
        if self._received is not None:
            raise self._interrupted(self._received)
        self._is_deferring = False
        try:
            yield
        finally:
            self._is_deferring = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            self.is_forced = True
            raise KeyboardInterrupt("a second signal: the state is not saved")
        self._received = number
        if not self._is_deferring:
            raise self._interrupted(number)

    @staticmethod
    def _interrupted(number: int) -> Interrupted:
        return Interrupted(f"interrupted by {signal.Signals(number).name}")
