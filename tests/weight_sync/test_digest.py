"""The digest that is computed on a device sees what a comparison of bytes would see."""

import pytest
import torch

from mgpo.weight_sync import digest
from mgpo.weight_sync.digest import device_digest, tensor_digest


def bytes_of(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@pytest.fixture
def weight():
    return torch.randn(61, 37, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)


@pytest.mark.parametrize("digest_of", [device_digest, lambda data: tensor_digest(data)])
def test_a_change_of_one_bit_and_an_exchange_of_two_values_show(weight, digest_of):
    before = digest_of(bytes_of(weight))
    assert digest_of(bytes_of(weight.clone())) == before
    one_bit = weight.clone()
    one_bit.view(torch.int16)[30, 11] ^= 1
    exchanged = weight.clone()
    exchanged[[3, 40]] = exchanged[[40, 3]]
    others = {digest_of(bytes_of(one_bit)), digest_of(bytes_of(exchanged))}
    assert len(others | {before}) == 3


def test_blocks_do_not_change_the_device_digest(weight, monkeypatch):
    whole = device_digest(bytes_of(weight))
    monkeypatch.setattr(digest, "_BLOCK", 100)
    assert device_digest(bytes_of(weight)) == whole


def test_many_random_tensors_have_different_device_digests():
    generator = torch.Generator().manual_seed(1)
    seen = set()
    for _ in range(2000):
        seen.add(device_digest(torch.randint(0, 256, (7,), dtype=torch.uint8, generator=generator)))
    assert len(seen) == 2000
