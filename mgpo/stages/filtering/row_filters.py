"""The filters that need no model: of single rows, and of rows among others."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mgpo.config.filters import DecontaminateConfig
from mgpo.config.quality import StrataConfig
from mgpo.data.compared_texts import evaluation_rows, overlap_facts, training_texts
from mgpo.data.decontamination import EvaluationIndex, find_overlaps
from mgpo.data.quality.strata import assign_strata, draw_rows
from mgpo.data.quality.types import Drop, Filter
from mgpo.data.row_store import RemainingRows
from mgpo.stages.filtering.outcomes import Added, Decisions

_STRATA_FIELDS = ("id", "domain", "accuracy", "difficulty")


def judge_each(rows: RemainingRows, *filters: Filter) -> Decisions:
    """Drop each row that one of the filters drops."""
    for number, record in rows.records():
        drops = (each.judge(record.values) for each in filters)
        drop = next((drop for drop in drops if drop is not None), None)
        if drop is not None:
            yield number, drop


def judge_together(
    rows: RemainingRows, find: Callable[[RemainingRows], Mapping[int, Drop]]
) -> Decisions:
    """Drop the rows that a function names by their position."""
    for position, drop in sorted(find(rows).items()):
        yield int(rows.numbers[position]), drop


def judge_overlaps(rows: RemainingRows, config: DecontaminateConfig) -> Decisions:
    """Drop each row that shares an n-gram with an evaluation set. Reason: contaminated."""
    index = EvaluationIndex(evaluation_rows(config.against, config.fields), config.ngram)
    texts = ((number, training_texts(record)) for number, record in rows.records())
    for number, overlaps in find_overlaps(index, texts):
        if overlaps:
            yield number, Drop("contaminated", {"overlaps": overlap_facts(overlaps)})


def judge_strata(
    rows: RemainingRows, config: StrataConfig, length_of: Callable[[str], int], seed: int
) -> Decisions:
    """Write its strata into each row, and drop those that are not drawn."""
    known: list[dict[str, Any]] = []

    def noted() -> Iterator[Mapping[str, Any]]:
        for _, record in rows.records():
            known.append({name: record.values.get(name) for name in _STRATA_FIELDS})
            yield record.values

    strata = assign_strata(noted(), config, length_of)
    drops = draw_rows(known, strata, config, seed)
    for position, number in enumerate(rows.numbers.tolist()):
        yield number, drops.get(position) or Added(strata[position].fields)
