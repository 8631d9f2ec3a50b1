"""Reads what W&B wrote on disk: the records of a run-*.wandb file.

The format is LevelDB's log, https://github.com/google/leveldb/blob/main/doc/log_format.md, behind
a header of 7 bytes: blocks of 32 KiB, in which a record is cut into chunks of checksum (4 bytes),
length (2), type (1: whole, 2: first, 3: middle, 4: last) and data.
"""

import json
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from wandb.proto.wandb_internal_pb2 import Record

_BLOCK = 32 * 1024
_FILE_HEADER = 7
_CHUNK = struct.Struct("<IHB")
_WHOLE, _LAST = 1, 4


def read_wandb_file(path: Path) -> list[Record]:
    """Return all records of a file, oldest first."""
    return [Record.FromString(data) for data in _records(path.read_bytes())]


def read_finished_wandb_file(path: Path, patience_s: float = 20.0) -> list[Record]:
    """Return all records once the last one is there: W&B's process may write after `finish`."""
    deadline = time.monotonic() + patience_s
    while True:
        with suppress(DecodeError):  # caught in the middle of a write
            records = read_wandb_file(path)
            if any(record.HasField("exit") for record in records):
                return records
        assert time.monotonic() < deadline, f"{path} has no exit record"
        time.sleep(0.1)


def history_rows(records: list[Record]) -> list[dict[str, Any]]:
    """Return each `log` call as a dictionary."""
    return [
        {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in row.item}
        for row in (
            record.history for record in records if record.WhichOneof("record_type") == "history"
        )
    ]


def _records(data: bytes) -> Iterator[bytes]:
    assert data[:4] == b":W&B"
    position, parts = _FILE_HEADER, b""
    while position + _CHUNK.size <= len(data):
        left_in_block = _BLOCK - position % _BLOCK
        if left_in_block < _CHUNK.size:
            position += left_in_block
            continue
        _, length, kind = _CHUNK.unpack_from(data, position)
        position += _CHUNK.size
        parts += data[position : position + length]
        position += length
        if kind in (_WHOLE, _LAST):
            yield parts
            parts = b""
