"""Losses and gradients of TRL and verl, reproduced by named settings."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mgpo.algorithm.advantages import weigh_groups
from mgpo.algorithm.mismatch import mismatch_weights
from mgpo.algorithm.policy_loss import batch_denominator, policy_loss, token_scales
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.types import Completion, Group, Prompt, Sample
from rewards.types import Outcome

FOLDER = Path(__file__).parent.parent / "data" / "algorithm"
ARRAYS = np.load(FOLDER / "loss_ref.npz")
LOSSES = json.loads((FOLDER / "loss_ref.json").read_text())["loss"]

COUNTED = {"aggregation": "sample_mean", "masked_samples": "count"}
SKIPPED = {"aggregation": "sample_mean", "masked_samples": "skip"}
TOKENS = {"aggregation": "token_mean"}
CONSTANT = {"aggregation": "constant", "constant_length": 16}
CONSTANT_SKIPPED = {**CONSTANT, "masked_samples": "skip"}
SETTINGS = {
    "trl/grpo": COUNTED,
    "trl/bnpo": TOKENS,
    "trl/dapo": TOKENS,
    "trl/dr_grpo": CONSTANT,
    "verl/seq-mean-token-mean": SKIPPED,
    "verl/token-mean": TOKENS,
    "verl/seq-mean-token-sum-norm": CONSTANT_SKIPPED,
}
"""Their mode -> our settings (docs/loss.md)."""


def split_name(name):
    case, library, mode, *options = name.split("/")
    return case, f"{library}/{mode}", set(options)


def test_every_stored_mode_has_settings():
    assert {split_name(name)[1] for name in LOSSES} == SETTINGS.keys()
    options = set().union(*(split_name(name)[2] for name in LOSSES))
    assert options == {"tis", "dualclip3"}
    assert len(LOSSES) == 40


def loss_and_gradient(name, dtype):
    """Evaluate our loss under the settings that reproduce a stored mode."""
    case, mode, options = split_name(name)
    arrays = {
        key: torch.from_numpy(ARRAYS[f"{case}/{key}"]).to(dtype)
        for key in ("old", "new", "rollout", "adv_trl")
    }
    trained = torch.from_numpy(ARRAYS[f"{case}/mask"])
    config = AlgorithmConfig(
        clip_low=0.2,
        clip_high=0.28,
        mismatch="token_tis" if "tis" in options else "none",
        mismatch_cap=2.0,
        dual_clip=3.0 if "dualclip3" in options else None,
        **SETTINGS[mode],
    )
    rows_N, columns_N = trained.nonzero(as_tuple=True)
    num_trained_S = trained.sum(-1).to(torch.int64)
    new = arrays["new"].clone().requires_grad_()
    old_N = arrays["old"][rows_N, columns_N]
    total = policy_loss(
        new[rows_N, columns_N],
        old_N,
        arrays["adv_trl"][rows_N],
        mismatch_weights(old_N, arrays["rollout"][rows_N, columns_N], rows_N, config),
        token_scales(num_trained_S, rows_N, config, dtype),
        config,
    )
    loss = total / batch_denominator(num_trained_S.tolist(), config)
    loss.backward()
    return loss.item(), new.grad.double()


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_loss_and_gradient_equal_the_stored_ones(name):
    loss, gradient = loss_and_gradient(name, torch.float64)
    # verl adds 1e-8 to the length that it divides a sample's sum by.
    tolerance = 3e-8 if "seq-mean-token-mean" in name else 1e-12
    assert loss == pytest.approx(LOSSES[name]["f64"], rel=0, abs=tolerance)
    assert gradient.numpy() == pytest.approx(ARRAYS[f"grad/{name}"], rel=0, abs=tolerance)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_float32_costs_less_than_a_millionth(name):
    loss, gradient = loss_and_gradient(name, torch.float32)
    assert loss == pytest.approx(LOSSES[name]["f64"], rel=0, abs=1e-6)
    assert gradient.numpy() == pytest.approx(ARRAYS[f"grad/{name}"], rel=0, abs=1e-6)


def reference_groups(case):
    """The stored rewards as groups: two of verdicts, one graded."""
    rewards, owners = ARRAYS[f"{case}/rewards"], ARRAYS[f"{case}/group"]
    completion = Completion(
        token_ids=(1,), rollout_logprobs=(-1.0,), finish_reason="stop", policy_version=0, text=""
    )
    groups = []
    for owner in np.unique(owners):
        values = [float(reward) for reward in rewards[owners == owner]]
        is_graded = not set(values) <= {0.0, 1.0}
        prompt = Prompt(
            id=f"q{owner}",
            messages=(),
            token_ids=(1,),
            domain="math",
            reward="math",
            reference=None,
        )
        samples = tuple(
            Sample(
                prompt=prompt,
                completion=completion,
                outcome=Outcome(
                    status="ok", correct=value == 1.0, value=value, is_graded=is_graded
                ),
                reward=value,
            )
            for value in values
        )
        groups.append(Group(prompt=prompt, samples=samples))
    return groups


@pytest.mark.parametrize("case", ["a", "b"])
@pytest.mark.parametrize(("library", "std_floor"), [("trl", 1e-4), ("verl", 1e-6)])
def test_advantages_equal_the_stored_ones(case, library, std_floor):
    config = AlgorithmConfig(gamma=0.0, std_floor=std_floor)
    groups = weigh_groups(reference_groups(case), config)
    got = [sample.advantage for group in groups for sample in group.samples]
    assert got == pytest.approx(list(ARRAYS[f"{case}/adv_{library}"]), rel=0, abs=1e-12)
