"""Asks a source for the samples that a store lacks, in whole dispatches."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from tqdm import tqdm

from mgpo.config.sampling import SamplingConfig
from mgpo.stages.sample_sources import SampleSource, Wanted
from mgpo.tracking.sample_store import SampleStore, StoredSample

logger = logging.getLogger(__name__)

_LOG_EVERY_S = 30.0


def is_complete(store: SampleStore, wanted: Sequence[Wanted]) -> bool:
    """Whether the store has all that is wanted."""
    return all(each.key in store for each in wanted)


def generate_missing(
    store: SampleStore,
    source: SampleSource,
    wanted: Sequence[Wanted],
    sampling: SamplingConfig,
    title: str,
) -> Iterator[tuple[Wanted, StoredSample]]:
    """Yield the samples that the store lacks, ungraded, as they finish; log how far it is.

    `wanted` is everything, what the store has included. Adding to the store is the caller's. What
    could not be generated is absent.
    """
    todo = _unfinished_dispatches(store, source.dispatch_size, wanted)
    num_done = num_tokens = 0
    started = logged_at = time.monotonic()
    with closing(tqdm(total=len(todo), desc=title, unit="sample", disable=None)) as bar:
        for index, sample in source.generate(todo, sampling):
            if sample.key not in store:
                yield todo[index], sample
            bar.update()
            num_done += 1
            num_tokens += sample.num_tokens
            if time.monotonic() - logged_at >= _LOG_EVERY_S:
                logged_at = time.monotonic()
                logger.info("%s: %d of %d samples", title, num_done, len(todo))
    speed = num_tokens / max(time.monotonic() - started, 1e-9)
    logger.info("%s: %d of %d samples, %.0f tokens/s", title, num_done, len(todo), speed)


def _unfinished_dispatches(store: SampleStore, size: int, wanted: Sequence[Wanted]) -> list[Wanted]:
    """Return the samples to ask for: every dispatch that lacks one, whole.

    A deterministic engine then samples the same as if it had not been cut.
    """
    dispatches = [wanted[first : first + size] for first in range(0, len(wanted), size)]
    return [
        each
        for dispatch in dispatches
        if any(other.key not in store for other in dispatch)
        for each in dispatch
    ]
