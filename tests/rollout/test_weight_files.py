"""Weight files: what was written is what is read, and a changed byte is named."""

from pathlib import Path

import pytest
import torch

from mgpo.weight_sync.shared_memory import read_bucket, write_weights


def write(tmp_path, bucket_bytes=10_000):
    generator = torch.Generator().manual_seed(3)
    tensors = {
        "up": torch.randn(16, 8, generator=generator),
        "gate": torch.randn(16, 8, generator=generator),
        "half": torch.randn(5, generator=generator).to(torch.bfloat16),
        "large": torch.randn(5000, generator=generator),
    }
    return tensors, write_weights(tensors.items(), 4, tmp_path, bucket_bytes)


def test_tensors_come_back_bit_for_bit(tmp_path):
    tensors, manifest = write(tmp_path)
    read = {
        record.name: tensor.clone()
        for bucket in manifest.buckets
        for record, tensor in read_bucket(bucket)
    }
    assert manifest.policy_version == 4
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_a_tensor_larger_than_a_bucket_has_one_of_its_own(tmp_path):
    _, manifest = write(tmp_path)
    names = [[tensor.name for tensor in bucket.tensors] for bucket in manifest.buckets]
    assert names == [["up", "gate", "half"], ["large"]]


def test_swapped_bytes_of_two_tensors_are_named(tmp_path):
    _, manifest = write(tmp_path)
    bucket = manifest.buckets[0]
    up, gate = bucket.tensors[:2]
    data = bytearray(Path(bucket.path).read_bytes())
    up_bytes = data[up.offset : up.offset + up.num_bytes]
    data[up.offset : up.offset + up.num_bytes] = data[gate.offset : gate.offset + gate.num_bytes]
    data[gate.offset : gate.offset + gate.num_bytes] = up_bytes
    Path(bucket.path).write_bytes(data)
    with pytest.raises(RuntimeError, match="the bytes of up changed"):
        list(read_bucket(bucket))


def test_one_changed_bit_is_named(tmp_path):
    _, manifest = write(tmp_path)
    bucket = manifest.buckets[0]
    data = bytearray(Path(bucket.path).read_bytes())
    data[bucket.tensors[2].offset] ^= 1
    Path(bucket.path).write_bytes(data)
    with pytest.raises(RuntimeError, match="the bytes of half changed"):
        list(read_bucket(bucket))
