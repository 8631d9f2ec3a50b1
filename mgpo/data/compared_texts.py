"""The texts of rows that decontamination compares."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgpo.config.errors import DataError
from mgpo.data.decontamination import EvaluationRow, Overlap
from mgpo.data.sources import Record, read_records

_PROBLEM_FIELDS = ("prompt", "problem", "question")
_SOLUTION_FIELDS = ("answer", "solution", "reference", "response")


def evaluation_rows(sources: Sequence[str], fields: Sequence[str] = ()) -> Iterator[EvaluationRow]:
    """Yield the rows of evaluation sets, each set named by its source.

    A row's texts are those of `fields`, or else of a problem and, where they are text, its
    solutions. System messages are left out: training rows may well have the same ones. Raises
    DataError for an empty set and for a row without a problem, which nothing could be found to
    share.
    """
    for source in sources:
        has_rows = False
        for record in read_records(source):
            has_rows = True
            yield EvaluationRow(
                set_name=source,
                number=record.number,
                id=record.values.get("id"),
                texts=list(_evaluation_texts(record, fields)),
            )
        if not has_rows:
            raise DataError(f"{source}: has no rows")


def _evaluation_texts(record: Record, fields: Sequence[str]) -> Iterator[str]:
    wanted = fields or _PROBLEM_FIELDS
    present = [name for name in wanted if record.values.get(name) is not None]
    if not present:
        raise DataError(
            f"{record.where}: has none of the fields {', '.join(wanted)}, only "
            f"{', '.join(record.values)}; name the field of its text with --fields"
        )
    for name in present:
        for message in _messages(record, name):
            if message.get("role") != "system":
                yield message["content"]
    for name in _SOLUTION_FIELDS if not fields else ():
        value = record.values.get(name)
        if isinstance(value, str):  # else a number, options, tests
            yield value


def training_texts(record: Record) -> list[str]:
    """Return the prompt of a training row, message by message, and its response if it has one.

    Raises DataError for a row without a prompt.
    """
    if record.values.get("prompt") is None:
        raise DataError(
            f"{record.where}, field prompt: missing; a training row has a prompt and may have a "
            "response; rename the fields of the row"
        )
    return [
        message["content"]
        for name in ("prompt", "response")
        if record.values.get(name) is not None
        for message in _messages(record, name)
    ]


def overlap_facts(overlaps: Sequence[Overlap]) -> list[dict[str, Any]]:
    """Return what reports say of a row's overlaps; can be written as JSON but for odd ids."""
    return [
        {
            "ngram": overlap.ngram,
            "set": overlap.evaluation_row.set_name,
            "set_row": overlap.evaluation_row.number,
            "set_id": overlap.evaluation_row.id,
        }
        for overlap in overlaps
    ]


def _messages(record: Record, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the chat messages of a field; a string is one of them. Raises DataError."""
    value = record.values[name]
    if isinstance(value, str):
        yield {"content": value}
        return
    is_chat = isinstance(value, list) and all(
        isinstance(message, Mapping) and isinstance(message.get("content"), str)
        for message in value
    )
    if not is_chat:
        raise DataError(
            f"{record.where}, field {name}: must be a string or chat messages with a content "
            f"that is a string, got {value!r:.80}"
        )
    yield from value
