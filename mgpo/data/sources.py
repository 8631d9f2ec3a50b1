"""Raw rows of a JSONL file, a parquet file or a hub dataset, each with the place it came from."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mgpo.config.errors import DataError

_HUB_DATASET = re.compile(
    r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<config>[^:@]+))?(?::(?P<split>[^:@]+))?"
)
_DEFAULT_SPLIT = "train"
_PARQUET_BATCH_ROWS = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One row as the source has it."""

    source: str
    """File or dataset."""
    values: Mapping[str, Any]
    number: int
    """Line of the file, or row of the table, from 1 on."""
    where: str
    """File and line, as messages name the row."""
    line: bytes | None = None
    """The row as its file has it, line end included; None for a row of a table."""


@lru_cache
def source_stem(source: str) -> str:
    """Return the name that default ids begin with: the file's or the dataset's, without folder."""
    return Path(source).stem if _is_file(source) else _parse_hub(source)["name"].split("/")[-1]


def read_records(source: str) -> Iterator[Record]:
    """Yield the rows of a source, written as `data.train` describes.

    Raises DataError for a source that does not exist or a row that cannot be read.
    """
    if not _is_file(source):
        yield from _read_hub(source)
        return
    path = Path(source)
    if not path.is_file():
        raise DataError(f"{source}: no such data file")
    yield from _READERS[path.suffix](path)


def row_line(record: Record) -> bytes:
    """Return a row as its file has it, or as JSON; the end of the line is added if missing.

    Raises DataError for a row that JSON cannot hold.
    """
    if record.line is not None:
        return record.line if record.line.endswith(b"\n") else record.line + b"\n"
    try:
        return json.dumps(record.values).encode() + b"\n"
    except TypeError as error:  # dates and bytes of a parquet file
        raise DataError(f"{record.where}: cannot be written as JSON: {error}") from error


def is_at_hand(source: str) -> bool:
    """Whether a source needs no download: a file, or a hub dataset in the local cache."""
    if _is_file(source):
        return True
    from datasets import config

    folder = _parse_hub(source)["name"].replace("/", "___")
    return (Path(config.HF_DATASETS_CACHE) / folder).is_dir()


def _read_jsonl(path: Path) -> Iterator[Record]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                values = json.loads(line)
            except ValueError as error:  # malformed JSON, or bytes that are not UTF-8
                raise DataError(f"{where}: not valid JSON: {error}") from error
            if not isinstance(values, dict):
                raise DataError(f"{where}: a row is a JSON object, got {type(values).__name__}")
            yield Record(source=str(path), values=values, number=number, where=where, line=line)


def _read_parquet(path: Path) -> Iterator[Record]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    where = f"{path}, row {number}"
                    yield Record(source=str(path), values=values, number=number, where=where)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error


def _read_hub(source: str) -> Iterator[Record]:
    parts = _parse_hub(source)
    import datasets

    split = parts["split"] or _DEFAULT_SPLIT
    try:
        rows = datasets.load_dataset(parts["name"], parts["config"], split=split)
    except (datasets.exceptions.DatasetsError, OSError, ValueError) as error:
        message = " ".join(str(error).split())
        raise DataError(f"hub dataset {source}: cannot be loaded: {message}") from error
    for number, values in enumerate(rows, start=1):
        where = f"{source}, row {number}"
        yield Record(source=source, values=values, number=number, where=where)


def _is_file(source: str) -> bool:
    return Path(source).suffix in _READERS


def _parse_hub(source: str) -> dict[str, str]:
    match = _HUB_DATASET.fullmatch(source)
    if match is None or Path(source).is_file():
        raise DataError(
            f"{source}: data is a .jsonl, .jsonl.gz or .parquet file or a hub dataset written "
            "ORG/NAME[@CONFIG][:SPLIT]"
        )
    return match.groupdict()


_READERS = {".jsonl": _read_jsonl, ".gz": _read_jsonl, ".parquet": _read_parquet}
