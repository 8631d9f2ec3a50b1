"""Losses and gradients of TRL and verl, reproduced by named settings."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mgpo.algorithm.policy_loss import batch_denominator, policy_loss, token_scales
from mgpo.config.algorithm import AlgorithmConfig

FOLDER = Path(__file__).parent.parent / "data" / "algorithm"
ARRAYS = np.load(FOLDER / "loss_ref.npz")
LOSSES = json.loads((FOLDER / "loss_ref.json").read_text())["loss"]

COUNTED = {"aggregation": "sample_mean", "masked_samples": "count"}
SKIPPED = {"aggregation": "sample_mean", "masked_samples": "skip"}
TOKENS = {"aggregation": "token_mean"}
SETTINGS = {
    "trl/grpo": COUNTED,
    "trl/bnpo": TOKENS,
    "trl/dapo": TOKENS,
    "verl/seq-mean-token-mean": SKIPPED,
    "verl/token-mean": TOKENS,
}
"""Their mode -> our settings (docs/loss.md)."""
NOT_COVERED = {"trl/dr_grpo", "verl/seq-mean-token-sum-norm"}
"""Division by a constant length, which no setting of ours does."""


def split_name(name):
    case, library, mode, *options = name.split("/")
    return case, f"{library}/{mode}", set(options)


COVERED = [
    name
    for name in sorted(LOSSES)
    if split_name(name)[1] in SETTINGS and "dualclip3" not in split_name(name)[2]
]


def test_every_stored_mode_is_covered_or_listed():
    modes = {split_name(name)[1] for name in LOSSES}
    assert modes == SETTINGS.keys() | NOT_COVERED
    options = set().union(*(split_name(name)[2] for name in LOSSES))
    assert options == {"tis", "dualclip3"}
    assert len(COVERED) == 2 * len(SETTINGS) * 2


@pytest.mark.parametrize("name", COVERED)
def test_loss_and_gradient_equal_the_stored_ones(name):
    case, mode, options = split_name(name)
    arrays = {
        key: torch.from_numpy(ARRAYS[f"{case}/{key}"]) for key in ("old", "new", "rollout", "mask")
    }
    advantages = torch.from_numpy(ARRAYS[f"{case}/adv_trl"])
    config = AlgorithmConfig(
        clip_low=0.2,
        clip_high=0.28,
        mismatch="token_tis" if "tis" in options else "none",
        mismatch_cap=2.0,
        **SETTINGS[mode],
    )
    rows_N, columns_N = arrays["mask"].nonzero(as_tuple=True)
    num_trained_S = arrays["mask"].sum(-1).to(torch.int64)
    new = arrays["new"].clone().requires_grad_()
    loss = policy_loss(
        new[rows_N, columns_N],
        arrays["old"][rows_N, columns_N],
        arrays["rollout"][rows_N, columns_N],
        advantages[rows_N],
        token_scales(num_trained_S, rows_N, config).double(),
        config,
    ) / batch_denominator(num_trained_S.tolist(), config)
    loss.backward()
    # float32 token scales would cost eight digits; verl itself adds 1e-8 to a divisor.
    assert loss.item() == pytest.approx(LOSSES[name]["f64"], rel=1e-6, abs=1e-7)
    stored = torch.from_numpy(ARRAYS[f"grad/{name}"])
    assert float((new.grad - stored).norm() / stored.norm()) < 1e-6
