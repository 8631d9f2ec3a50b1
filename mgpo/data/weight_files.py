"""The safetensors files of a model: what they hold, read in pieces and written in pieces.

No function here has more than one piece of a tensor in memory.
"""

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from mgpo.config.errors import DataError

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
FLOAT_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
EXACT_TYPES = {
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_ALIGNMENT = 8
"""Bytes to whose multiple a file's header is padded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTensor:
    """A tensor of a weight file."""

    name: str
    path: Path
    dtype: str
    """As safetensors names it, e.g. BF16; a key of FLOAT_TYPES or EXACT_TYPES."""
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """Size in the file."""
        return math.prod(self.shape) * (FLOAT_TYPES | EXACT_TYPES)[self.dtype].itemsize

    def row_ranges(self, max_elements: int) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) over the first dimension, in pieces of at most so many elements
        where a row allows it; (0, 1) for a scalar."""
        rows = self.shape[0] if self.shape else 1
        step = max(1, max_elements // max(1, math.prod(self.shape[1:])))
        for start in range(0, rows, step):
            yield start, min(start + step, rows)

    def read(self, start: int, stop: int) -> torch.Tensor:
        """Return rows of the tensor; a scalar as it is.

        The file is mapped anew each time, so that the pages read are given back after.
        """
        with safe_open(self.path, framework="pt") as file:
            if not self.shape:
                return _as_tensor(file.get_tensor(self.name))
            return _as_tensor(file.get_slice(self.name)[start:stop])


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightFiles:
    """The weights of one model folder."""

    folder: Path
    tensors: Mapping[str, StoredTensor]
    is_sharded: bool

    @property
    def num_bytes(self) -> int:
        """Size of all tensors."""
        return sum(tensor.num_bytes for tensor in self.tensors.values())

    def shards(self) -> dict[str, list[StoredTensor]]:
        """Return the tensors by file name."""
        found: dict[str, list[StoredTensor]] = {}
        for tensor in self.tensors.values():
            found.setdefault(tensor.path.name, []).append(tensor)
        return dict(sorted(found.items()))


def read_weight_files(folder: Path) -> WeightFiles:
    """List the tensors of a model. Raises DataError where files are missing, damaged or disagree
    with their index."""
    if (folder / SINGLE_FILE).is_file():
        tensors = _list_tensors(folder / SINGLE_FILE)
        return WeightFiles(folder=folder, tensors=tensors, is_sharded=False)
    if not (folder / INDEX_FILE).is_file():
        raise DataError(
            f"model {folder}: has neither {SINGLE_FILE} nor {INDEX_FILE}; give a folder in Hugging "
            "Face format with safetensors weights"
        )
    weight_map = _read_weight_map(folder / INDEX_FILE)
    tensors = {}
    for name in sorted(set(weight_map.values())):
        listed = {tensor for tensor, file in weight_map.items() if file == name}
        found = _list_tensors(folder / name)
        astray = sorted(listed ^ found.keys())
        if astray:
            raise DataError(
                f"model {folder}: {INDEX_FILE} and {name} disagree about tensor {astray[0]}; "
                "restore the files"
            )
        tensors |= found
    return WeightFiles(folder=folder, tensors=tensors, is_sharded=True)


def write_weight_file(
    path: Path,
    tensors: Iterable[StoredTensor],
    metadata: Mapping[str, str],
    pieces: Iterable[torch.Tensor],
) -> None:
    """Write a safetensors file of these tensors.

    `pieces` are their contents one after another, row by row, in the order of `tensors`.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for tensor in tensors:
        start, end = end, end + tensor.num_bytes
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for piece in pieces:
            file.write(piece.contiguous().reshape(-1).view(torch.uint8).numpy().data)
        assert file.tell() == 8 + len(encoded) + end, f"{path}: pieces do not fill the tensors"


def read_metadata(path: Path) -> dict[str, str]:
    """Return a weight file's own notes; transformers asks for the format."""
    with safe_open(path, framework="pt") as file:
        return {"format": "pt", **(file.metadata() or {})}


def in_file_order(tensors: Iterable[StoredTensor]) -> list[StoredTensor]:
    """Return tensors with the widest types first, which keeps each aligned to its type."""
    types = FLOAT_TYPES | EXACT_TYPES
    return sorted(tensors, key=lambda tensor: (-types[tensor.dtype].itemsize, tensor.name))


def _list_tensors(path: Path) -> dict[str, StoredTensor]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: _describe(path, name, file.get_slice(name)) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DataError(f"model {path.parent}: {path.name} cannot be read: {error}") from error
    for tensor in tensors.values():
        if tensor.dtype not in FLOAT_TYPES | EXACT_TYPES:
            raise DataError(
                f"model {path.parent}: tensor {tensor.name} has the type {tensor.dtype}, allowed "
                f"are {', '.join(FLOAT_TYPES | EXACT_TYPES)}; take the model without quantization"
            )
    return tensors


def _describe(path: Path, name: str, part: Any) -> StoredTensor:
    return StoredTensor(
        name=name, path=path, dtype=str(part.get_dtype()), shape=tuple(part.get_shape())
    )


def _read_weight_map(path: Path) -> dict[str, str]:
    try:
        weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        files = {str(tensor): str(file) for tensor, file in weight_map.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"model {path.parent}: {path.name} has no usable weight_map") from error
    outside = next((file for file in files.values() if Path(file).name != file), None)
    if outside is not None:
        raise DataError(
            f"model {path.parent}: {path.name} names {outside!r}, not a file of its own folder"
        )
    return files


def _as_tensor(value: Any) -> torch.Tensor:
    assert isinstance(value, torch.Tensor)
    return value
