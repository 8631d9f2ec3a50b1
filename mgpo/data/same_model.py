"""Whether models differ in nothing but the values of their parameters."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mgpo.config.errors import DataError
from mgpo.data.weight_files import EXACT_TYPES, StoredTensor, WeightFiles

TOKENIZER_FILES = (
    *("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template*", "*.model", "*.tiktoken"),
)
"""Patterns of the files that say how text becomes ids."""

_HARMLESS_FIELDS = frozenset(
    {"_name_or_path", "transformers_version", "dtype", "torch_dtype", "use_cache"}
)
"""Of a config.json. The type of the weights is compared tensor by tensor."""
_ABSENT = "absent"
_MAX_ELEMENTS = 2**22


def refuse_different(models: Sequence[WeightFiles]) -> None:
    """Raise DataError unless all models have the first one's configuration, tokenizer, tensor
    names, shapes, types and integer or boolean buffers."""
    first, *others = models
    for other in others:
        if other.folder == first.folder:
            continue
        _compare_configs(first.folder, other.folder)
        _compare_tokenizers(first.folder, other.folder)
        _compare_tensors(first, other)
        _compare_buffers(first, other)


def tokenizer_files(folder: Path) -> list[Path]:
    """Return the files of a model's tokenizer, by name."""
    found = {path for pattern in TOKENIZER_FILES for path in folder.glob(pattern)}
    return sorted(path for path in found if path.is_file())


def _compare_configs(first: Path, other: Path) -> None:
    known, got = _read_config(first), _read_config(other)
    for field in sorted(known.keys() | got.keys()):
        mine, its = known.get(field, _ABSENT), got.get(field, _ABSENT)
        if mine != its:
            raise DataError(
                f"model {other}: its config.json has {field}={its!r:.100}, that of {first} has "
                f"{mine!r:.100}; only models of one architecture can be merged"
            )


def _read_config(folder: Path) -> dict[str, Any]:
    """Return a config.json's fields with transformers' defaults, nested ones by dotted name."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"model {folder}: no usable config.json: {reason}") from error
    return {
        field: value
        for field, value in _flatten(config.to_dict(), prefix="")
        if field.rpartition(".")[2] not in _HARMLESS_FIELDS
    }


def _flatten(fields: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, prefix=f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _compare_tokenizers(first: Path, other: Path) -> None:
    known, got = _hash_tokenizer(first), _hash_tokenizer(other)
    for name in sorted(known.keys() | got.keys()):
        mine, its = known.get(name, _ABSENT), got.get(name, _ABSENT)
        if mine != its:
            raise DataError(
                f"model {other}: its tokenizer file {name} (sha256 {its:.16}) is not that of "
                f"{first} ({mine:.16}); if both mean the same, copy the one over the other"
            )


def _hash_tokenizer(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tokenizer_files(folder)
    }


def _compare_tensors(first: WeightFiles, other: WeightFiles) -> None:
    for name in sorted(first.tensors.keys() | other.tensors.keys()):
        mine, its = _describe(first.tensors.get(name)), _describe(other.tensors.get(name))
        if mine != its:
            raise DataError(
                f"model {other.folder}: tensor {name} is {its}, in {first.folder} it is {mine}; "
                "only models with the same tensors can be merged"
            )


def _describe(tensor: StoredTensor | None) -> str:
    return f"{tensor.dtype} {list(tensor.shape)}" if tensor else _ABSENT


def _compare_buffers(first: WeightFiles, other: WeightFiles) -> None:
    for name, mine in first.tensors.items():
        if mine.dtype not in EXACT_TYPES:
            continue
        for start, stop in mine.row_ranges(_MAX_ELEMENTS):
            kept, got = mine.read(start, stop), other.tensors[name].read(start, stop)
            if not torch.equal(kept, got):
                place = int(torch.nonzero((kept != got).reshape(-1))[0])
                raise DataError(
                    f"model {other.folder}: tensor {name} ({mine.dtype}) has "
                    f"{got.reshape(-1)[place].item()} where {first.folder} has "
                    f"{kept.reshape(-1)[place].item()}; a mean of such values means nothing"
                )
