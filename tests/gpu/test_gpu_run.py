"""The same code on a CUDA device: nccl, flash-attn or sdpa, bf16, one GPU shared or several."""

import json

import pytest
import torch
from command_runs import make_experiment, run_command

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_three_steps_run_and_engine_and_learner_agree(tmp_path, dtype):
    experiment = make_experiment(tmp_path, steps=3, dtype=dtype)
    done = run_command(experiment, "gpu", "run.device=cuda")
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (tmp_path / "gpu" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["step"] for record in records] == [0, 1, 2, 3]
    limit = 1e-3 if dtype == "float32" else 0.5
    assert all(record["sync/canary_gap_max"] <= limit for record in records[1:])
    assert any(record["learner/grad_norm"] > 0 for record in records[1:])
