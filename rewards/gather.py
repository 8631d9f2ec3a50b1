"""One future for the outcomes of several."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from rewards.types import Outcome


def gather(
    parts: Sequence["Future[Outcome]"], combine: Callable[[Sequence[Outcome]], Outcome]
) -> "Future[Outcome]":
    """Return the future of what `combine` makes of all outcomes; it can't be cancelled.

    `combine` is called in the thread that ends the last part, and must not raise.
    """
    whole: Future[Outcome] = Future()
    whole.set_running_or_notify_cancel()
    unfinished = set(parts)
    lock = threading.Lock()

    def finish(part: "Future[Outcome]") -> None:
        with lock:
            unfinished.discard(part)
            if not unfinished:
                whole.set_result(combine([each.result() for each in parts]))

    for part in parts:
        part.add_done_callback(finish)
    return whole
