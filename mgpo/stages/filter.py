"""`mgpo filter`: keeps the rows that are good enough to train on, and says why each other was
dropped. Each filter's decisions are on disk when it has finished."""

import logging
from contextlib import ExitStack, closing

from mgpo.config.errors import DataError
from mgpo.config.filters import FilterConfig
from mgpo.data.quality.types import Drop
from mgpo.data.row_store import RemainingRows, RowStore, has_rows, remove_rows, write_rows
from mgpo.stages.filtering.filters import Filters
from mgpo.stages.filtering.inputs import RowCheck, check_sources, read_sources
from mgpo.stages.filtering.outcomes import Added, Outcome, write_outcome
from mgpo.stages.filtering.publication import REPORT, publish, summarize_filters
from mgpo.stages.interruption import Interruption
from mgpo.tracking.run_dir import RunDir

logger = logging.getLogger(__name__)


def run(config: FilterConfig) -> str:
    """Apply the filters that have not finished yet, publish the rows, return the table of counts.

    Raises UserError.
    """
    check_sources(config)
    with ExitStack() as stack:
        run_dir = stack.enter_context(closing(RunDir.open(config)))
        stack.enter_context(Interruption())
        if not (run_dir.path / REPORT).is_file():
            _filter(config, run_dir, stack)
    return summarize_filters(run_dir.path)


def _filter(config: FilterConfig, run_dir: RunDir, stack: ExitStack) -> None:
    folder = run_dir.filters_dir
    folder.mkdir(exist_ok=True)
    if not has_rows(folder):
        write_rows(folder, read_sources(config), RowCheck(config))
    store = stack.enter_context(closing(RowStore(folder)))
    every = rows = RemainingRows.all_of(store, config.data)
    filters = Filters(config, run_dir, stack)
    outcomes = []
    for place, name in enumerate(config.filters.names, start=1):
        outcome = Outcome(name=name, path=folder / f"{place:02d}_{name}.jsonl")
        if not outcome.path.is_file():
            logger.info("filter %s: %d rows", name, len(rows))
            write_outcome(outcome, filters.decide(name, rows))
        rows = _after(rows, outcome)
        outcomes.append(outcome)
    publish(run_dir.path, every, rows, outcomes)
    remove_rows(folder)


def _after(rows: RemainingRows, outcome: Outcome) -> RemainingRows:
    """Return the rows that a finished filter leaves. Raises DataError if there are none."""
    dropped, added = set(), {}
    for number, decision in outcome.decisions():
        if isinstance(decision, Drop):
            dropped.add(number)
        elif isinstance(decision, Added):
            added[number] = decision.fields
    logger.info("filter %s: %d of %d rows dropped", outcome.name, len(dropped), len(rows))
    remaining = rows.after(dropped, added)
    if not len(remaining):
        raise DataError(
            f"filters.{outcome.name} dropped all {len(rows)} rows that were left; "
            f"{outcome.path} says why"
        )
    return remaining
