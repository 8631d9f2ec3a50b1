"""Weights as files in shared memory: written once by the learner, mapped by every engine of a
host."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

from mgpo.weight_sync.digest import tensor_digest
from mgpo.weight_sync.types import Bucket, TensorRecord, WeightManifest

_ALIGNMENT = 64


def write_weights(
    named_tensors: Iterable[tuple[str, torch.Tensor]],
    policy_version: int,
    directory: Path,
    bucket_bytes: int,
) -> WeightManifest:
    """Write tensors into bucket files of about `bucket_bytes`; a larger tensor has one of its
    own."""
    buckets: list[Bucket] = []
    pending: list[tuple[str, torch.Tensor]] = []
    size = 0
    for name, tensor in named_tensors:
        num_bytes = tensor.numel() * tensor.element_size()
        if pending and size + num_bytes > bucket_bytes:
            buckets.append(_write_bucket(pending, directory / f"bucket_{len(buckets):04d}.bin"))
            pending, size = [], 0
        pending.append((name, tensor.detach().cpu().contiguous()))
        size += num_bytes
    if pending:
        buckets.append(_write_bucket(pending, directory / f"bucket_{len(buckets):04d}.bin"))
    return WeightManifest(policy_version=policy_version, buckets=tuple(buckets))


def _write_bucket(named_tensors: list[tuple[str, torch.Tensor]], path: Path) -> Bucket:
    records = []
    with path.open("wb") as file:
        for name, tensor in named_tensors:
            file.write(b"\0" * (-file.tell() % _ALIGNMENT))
            records.append(
                TensorRecord(
                    name=name,
                    dtype=str(tensor.dtype).removeprefix("torch."),
                    shape=tuple(tensor.shape),
                    offset=file.tell(),
                    num_bytes=tensor.numel() * tensor.element_size(),
                    digest=tensor_digest(tensor),
                )
            )
            file.write(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return Bucket(path=str(path), tensors=tuple(records))


def read_bucket(bucket: Bucket) -> Iterator[tuple[TensorRecord, torch.Tensor]]:
    """Yield the tensors of a bucket without copying them; they must be copied, not kept.

    Raises RuntimeError naming a tensor whose bytes are not those that were written.
    """
    # Copy-on-write: torch wants writable memory, nothing is ever written.
    data = torch.from_numpy(np.memmap(bucket.path, dtype=np.uint8, mode="c"))
    for record in bucket.tensors:
        raw = data[record.offset : record.offset + record.num_bytes]
        tensor = raw.view(getattr(torch, record.dtype)).view(record.shape)
        if tensor_digest(tensor) != record.digest:
            raise RuntimeError(f"{bucket.path}: the bytes of {record.name} changed on their way")
        yield record, tensor
