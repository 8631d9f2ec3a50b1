"""Rows in one micro-batch: unpacked they are what they were, and none sees another."""

import random
from itertools import pairwise

import fakes
import pytest
import torch
from transformers import AutoModelForCausalLM

from mgpo.algorithm.policy_loss import batch_denominator
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.data.packing import plan_microbatches
from mgpo.learner.batch import pack_rows
from mgpo.learner.model import PolicyModel, load_causal_lm
from mgpo.learner.objectives import sft_objective
from mgpo.learner.rows import TrainingRow

VOCAB_SIZE = 259
SFT = AlgorithmConfig(aggregation="token_mean", mismatch="none")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads that wait for each other make so small a model slow on busy cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=4)
    return path


@pytest.fixture
def model(model_path):
    """The learner's model, not sharded."""
    causal_lm = load_causal_lm(model_path, torch.device("cpu"), torch.float32)
    return PolicyModel(causal_lm, VOCAB_SIZE, chunk_tokens=50)


def make_rows(seed, count):
    """Uneven rows; now and then a response of one token, which is the least."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        prompt_len, response_len = rng.randint(1, 30), rng.choice((1, rng.randint(1, 80)))
        ids = tuple(rng.randrange(VOCAB_SIZE) for _ in range(prompt_len + response_len))
        rows.append(TrainingRow(token_ids=ids, prompt_len=prompt_len))
    return rows


def logits(model, rows):
    """All logits of a packed micro-batch, by row."""
    batch = pack_rows(rows)
    packed = model.causal_lm(
        input_ids=batch.input_ids_T[None],
        position_ids=batch.position_ids_T[None],
        use_cache=False,
        layout=batch.layout,
    ).logits[0]
    return packed.split([len(row.token_ids) for row in rows])


def loss_and_gradient(model, rows, microbatches):
    """The supervised loss as the learner makes it of these micro-batches."""
    model.zero_grad()
    denominator = batch_denominator([row.num_trained_tokens for row in rows], SFT)
    total = 0.0
    for indices in microbatches:
        batch = pack_rows([rows[index] for index in indices])
        loss, metrics = sft_objective(batch, *model(batch, 1.0), SFT, denominator)
        loss.backward()
        total += metrics["loss/sft"].value
    return total, {name: p.grad / denominator for name, p in model.named_parameters()}


@pytest.mark.parametrize("seed", range(20))
def test_a_packed_batch_unpacks_to_its_rows(seed):
    rows = make_rows(seed, 1 + seed)
    batch = pack_rows(rows)
    starts = batch.layout.cu_seq_lens.tolist()
    for index, (row, (start, end)) in enumerate(zip(rows, pairwise(starts), strict=True)):
        assert tuple(batch.input_ids_T[start:end].tolist()) == row.token_ids
        assert batch.position_ids_T[start:end].tolist() == list(range(len(row.token_ids)))
        is_own = batch.sample_index_N == index
        assert tuple(batch.targets_N[is_own].tolist()) == row.token_ids[row.prompt_len :]
        assert batch.input_ids_T[batch.predictor_N[is_own] + 1].equal(batch.targets_N[is_own])
        assert batch.predictor_N[is_own].tolist()[0] == start + row.prompt_len - 1
    assert starts[-1] == len(batch.input_ids_T)


@pytest.mark.parametrize("seed", range(5))
def test_a_packed_rows_logits_equal_the_rows_alone(model, model_path, seed):
    rows = make_rows(seed, 9)
    plain = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    with torch.no_grad():
        for row, packed in zip(rows, logits(model, rows), strict=True):
            alone = plain(torch.tensor([row.token_ids])).logits[0]
            assert torch.allclose(packed, alone, atol=1e-5)


def test_another_rows_tokens_change_nothing_to_the_bit(model):
    rows = make_rows(1, 6)
    with torch.no_grad():
        before = logits(model, rows)
        for changed in range(6):
            other = TrainingRow(
                token_ids=tuple((t + 1) % VOCAB_SIZE for t in rows[changed].token_ids),
                prompt_len=rows[changed].prompt_len,
            )
            after = logits(model, [*rows[:changed], other, *rows[changed + 1 :]])
            for index in range(6):
                assert torch.equal(before[index], after[index]) == (index != changed)


@pytest.mark.parametrize("seed", range(5))
def test_loss_and_gradient_of_packed_rows_equal_those_of_single_rows(model, seed):
    rows = make_rows(seed, 12)
    lengths = [len(row.token_ids) for row in rows]
    alone, expected = loss_and_gradient(model, rows, [[index] for index in range(12)])
    for budget in (max(lengths), 250, 10_000):
        (microbatches,) = plan_microbatches(lengths, budget, num_ranks=1)
        packed, got = loss_and_gradient(model, rows, microbatches)
        assert packed == pytest.approx(alone, rel=1e-5)
        for name, gradient in expected.items():
            assert (got[name] - gradient).norm() <= 1e-5 * gradient.norm(), name


def test_the_loss_is_the_mean_over_response_tokens_alone(model, model_path):
    rows = make_rows(3, 7)
    got, _ = loss_and_gradient(model, rows, [list(range(7))])
    plain = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    losses = []
    with torch.no_grad():
        for row in rows:
            scores = plain(torch.tensor([row.token_ids])).logits[0, :-1, :VOCAB_SIZE]
            each = -scores.log_softmax(-1)[range(len(scores)), row.token_ids[1:]]
            losses += each[row.prompt_len - 1 :].tolist()
    assert got == pytest.approx(sum(losses) / len(losses), rel=1e-5)
