"""Weights from learner to vLLM on GPUs: ipc on a shared device, nccl between two; sleep, attention.

On one GPU: engine and learner share it (ipc, sleep). On two or more: each has its own (nccl).
"""

import json

import pytest
import torch
from command_runs import make_experiment, run_command

pytest.importorskip("vllm", reason="vllm is not installed")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
SETTINGS = (
    "run.device=cuda",
    "rollout.engine=vllm",
    "rollout.max_model_len=256",
    "rollout.gpu_memory_utilization=0.3",
)


def run_three_steps(folder, name, *overrides, dtype="bfloat16"):
    experiment = make_experiment(folder, steps=3, dtype=dtype, head_dim=64)
    done = run_command(experiment, name, *SETTINGS, *overrides)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (folder / name / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["step"] for record in records] == [0, 1, 2, 3]
    return records[1:]


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-3), ("bfloat16", 0.5)])
def test_ipc_on_a_shared_gpu_with_a_sleeping_engine(tmp_path, monkeypatch, dtype, limit):
    """Digests are compared after each push, so the run ends only if they are equal."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    records = run_three_steps(tmp_path, "ipc", dtype=dtype)
    assert all(record["sync/canary_gap_max"] <= limit for record in records)
    assert any(record["learner/grad_norm"] > 0 for record in records)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="nccl needs two GPUs")
def test_nccl_between_two_gpus(tmp_path):
    records = run_three_steps(tmp_path, "nccl")
    assert all(record["sync/canary_gap_max"] <= 0.5 for record in records)


@pytest.mark.skipif(torch.cuda.device_count() < 4, reason="two ranks and two engines")
def test_nccl_from_two_ranks_to_two_engines(tmp_path):
    records = run_three_steps(tmp_path, "nccl22", "learner.num_ranks=2", "rollout.num_workers=2")
    assert all(record["sync/canary_gap_max"] <= 0.5 for record in records)


def test_the_digest_is_the_same_on_both_devices_and_sees_every_change():
    from mgpo.weight_sync.digest import device_digest, tensor_digest

    torch.manual_seed(0)
    weight = torch.randn(1000, 333, dtype=torch.bfloat16, device="cuda")
    flat = weight.reshape(-1).view(torch.uint8)
    assert tensor_digest(weight) == device_digest(flat) == device_digest(flat.cpu())
