"""The rows of several sources as one file, any of them at hand by its number, none in memory."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from mgpo.config.data import RowsConfig
from mgpo.data.rows import Row, our_fields, row_of
from mgpo.data.sources import Record, row_line

_ROWS, _INDEX = "input.jsonl", "input.index.npz"


class RowStore:
    """Rows in the order of their sources, numbered from 0."""

    def __init__(self, folder: Path) -> None:
        """Open what `write_rows` wrote."""
        with np.load(folder / _INDEX) as index:
            self._offsets: NDArray[np.int64] = index["offsets"]
            self._source_of: NDArray[np.int32] = index["source_of"]
            self._number_of: NDArray[np.int64] = index["number_of"]
            self._is_table: NDArray[np.bool_] = index["is_table"]
            self._sources = index["sources"].tolist()
        self._file: BinaryIO = (folder / _ROWS).open("rb")

    def __len__(self) -> int:
        return len(self._source_of)

    def read(self, row: int) -> Record:
        """Return one row."""
        start, stop = self._offsets[row : row + 2].tolist()
        self._file.seek(start)
        line = self._file.read(stop - start)
        source, number = self._sources[self._source_of[row]], int(self._number_of[row])
        return Record(
            source=source,
            values=json.loads(line),
            number=number,
            where=f"{source}, {'row' if self._is_table[row] else 'line'} {number}",
            line=line,
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def has_rows(folder: Path) -> bool:
    """Whether `write_rows` came to its end there."""
    return (folder / _INDEX).is_file()


def remove_rows(folder: Path) -> None:
    """Delete what `write_rows` wrote, the index first."""
    for name in (_INDEX, _ROWS):
        (folder / name).unlink(missing_ok=True)


def write_rows(folder: Path, records: Iterable[Record], check: Callable[[Record], None]) -> None:
    """Copy rows into the folder; they are there when all of them are.

    Raises what `check` raises of a row.
    """
    offsets, source_of, number_of, is_table = [0], [], [], []
    sources: dict[str, int] = {}
    with (folder / _ROWS).open("wb") as file:
        for record in records:
            check(record)
            file.write(row_line(record))
            offsets.append(file.tell())
            source_of.append(sources.setdefault(record.source, len(sources)))
            number_of.append(record.number)
            is_table.append(record.line is None)
        file.flush()
        os.fsync(file.fileno())
    unfinished = folder / f".{_INDEX}"
    with unfinished.open("wb") as index:
        np.savez(
            index,
            offsets=np.array(offsets, dtype=np.int64),
            source_of=np.array(source_of, dtype=np.int32),
            number_of=np.array(number_of, dtype=np.int64),
            is_table=np.array(is_table, dtype=np.bool_),
            sources=np.array(list(sources)),
        )
        index.flush()
        os.fsync(index.fileno())
    os.replace(unfinished, folder / _INDEX)


@dataclass(frozen=True, kw_only=True)
class RemainingRows(Sequence[Mapping[str, Any]]):
    """The rows that no filter has dropped yet, under our field names, read as they are needed."""

    store: RowStore
    config: RowsConfig
    numbers: NDArray[np.int64]
    """In the store, rising."""
    added: Mapping[int, Mapping[str, Any]]
    """By number: the fields that filters have written."""

    @classmethod
    def all_of(cls, store: RowStore, config: RowsConfig) -> Self:
        """Start with every row of the store."""
        numbers = np.arange(len(store), dtype=np.int64)
        return cls(store=store, config=config, numbers=numbers, added={})

    def after(
        self, dropped: Collection[int], added: Mapping[int, Mapping[str, Any]]
    ) -> "RemainingRows":
        """Return the rows that a filter keeps, with the fields that it adds; both by number."""
        is_dropped = np.isin(self.numbers, np.fromiter(dropped, dtype=np.int64))
        merged = {number: {**self.added.get(number, {}), **more} for number, more in added.items()}
        return replace(self, numbers=self.numbers[~is_dropped], added={**self.added, **merged})

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, position: Any) -> Any:
        return self._record(int(self.numbers[position])).values

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield each row with its number, as a record under our field names."""
        for number in self.numbers.tolist():
            yield number, self._record(number)

    def task(self, record: Record) -> Row:
        """Return one of `records()` as a task. Raises DataError."""
        return row_of(record, self._unmapped)

    def line(self, number: int) -> bytes:
        """Return a row as it is published: as it came, or with the fields that were added."""
        record = self.store.read(number)
        if number not in self.added:
            return row_line(record)
        return json.dumps({**record.values, **self.added[number]}).encode() + b"\n"

    @cached_property
    def _unmapped(self) -> RowsConfig:
        return replace(self.config, columns={})

    def _record(self, number: int) -> Record:
        record = self.store.read(number)
        values = our_fields(record, self.config) | dict(self.added.get(number, {}))
        return replace(record, values=values, line=None)
