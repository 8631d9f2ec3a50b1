"""What `mgpo filter` reads, and what it refuses before the first filter starts."""

from collections.abc import Iterator
from dataclasses import replace

from mgpo.config.errors import DataError
from mgpo.config.filters import FilterConfig
from mgpo.data.compared_texts import evaluation_rows
from mgpo.data.inputs import check_rewards
from mgpo.data.model_files import is_hub_name
from mgpo.data.rows import check_prompt, has_verifier, our_fields, row_of
from mgpo.data.sources import Record, read_records


def check_sources(config: FilterConfig) -> None:
    """Raise UserError for a model or an evaluation set that is not there, or not as expected."""
    filters = config.filters
    for model in (config.tokenizer, *config.model_sources().values()):
        if model is not None:
            is_hub_name(model)
    if filters.decontaminate is not None:
        for source in filters.decontaminate.against:
            next(evaluation_rows([source], filters.decontaminate.fields))


def read_sources(config: FilterConfig) -> Iterator[Record]:
    """Yield the rows of all sources. Raises DataError for a source without any."""
    for source in config.data.sources:
        has_rows = False
        for record in read_records(source):
            has_rows = True
            yield record
        if not has_rows:
            raise DataError(f"{source}: has no rows")


class RowCheck:
    """Raises DataError for a row that a filter could not work with."""

    def __init__(self, config: FilterConfig) -> None:
        self._data = config.data
        self._unmapped = replace(config.data, columns={})
        self._reward = config.reward
        self._is_graded = bool(config.filters.verify or config.filters.accuracy)
        self._places: dict[str, str] = {}
        """By id."""

    def __call__(self, record: Record) -> None:
        """Check one row, and its id against those of the rows before."""
        values = our_fields(record, self._data)
        ours = replace(record, values=values)
        check_prompt(ours)
        first = self._places.setdefault(values["id"], record.where)
        if first is not record.where:
            raise DataError(
                f"{record.where}, field id: {values['id']!r} is also the id of {first}; "
                "drops and samples are told apart by it"
            )
        if self._is_graded and has_verifier(values):
            check_rewards([row_of(ours, self._unmapped)], self._reward)
