"""S_LP in packed forward passes equals the model's own forward pass, on any number of ranks."""

import random

import fakes
import pytest
import torch
from transformers import AutoModelForCausalLM

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.learner.pool import LearnerPool
from mgpo.learner.rows import TrainingRow
from mgpo.learner.setup import LearnerSetup

pytestmark = [pytest.mark.ray, pytest.mark.slow]

VOCAB_SIZE, TEMPERATURE = 259, 0.7


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=3)
    return path


def make_rows(count):
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        prompt_len = rng.randint(3, 20)
        ids = tuple(rng.randrange(VOCAB_SIZE) for _ in range(prompt_len + rng.randint(1, 90)))
        rows.append(TrainingRow(token_ids=ids, prompt_len=prompt_len))
    return rows


def potential_by_transformers(model, row):
    """One row at a time, all logits at once."""
    ids = torch.tensor([row.token_ids])
    with torch.no_grad():
        logits = model(ids).logits[0, :, :VOCAB_SIZE] / TEMPERATURE
    logprobs = logits.log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    return -float(logprobs[row.prompt_len - 1 :].double().mean())


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("num_ranks", [1, 2])
def test_equals_an_independent_forward_pass(model_path, num_ranks):
    rows = make_rows(17)
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    expected = [potential_by_transformers(model, row) for row in rows]
    setup = LearnerSetup(
        learner=LearnerConfig(
            num_ranks=num_ranks, max_tokens_per_microbatch=200, head_chunk_tokens=16
        ),
        algorithm=AlgorithmConfig(),
        model_source=str(model_path),
        dtype="float32",
        vocab_size=VOCAB_SIZE,
        temperature=TEMPERATURE,
        device="cpu",
        shares_device=False,
        num_threads=1,
    )
    pool = LearnerPool(setup, 1, [{"num_cpus": 0}] * num_ranks)
    try:
        pool.wait_until_loaded()
        assert pool.learning_potentials(rows) == pytest.approx(expected, abs=1e-5)
        # Nothing was learnt, and nothing is left over from the first pass.
        assert pool.learning_potentials(rows[:1]) == pytest.approx(expected[:1], abs=1e-5)
    finally:
        pool.close()
