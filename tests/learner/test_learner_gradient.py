"""The gradient of a batch does not depend on how the batch is split over ranks and
micro-batches."""

import random
from collections.abc import Iterator

import fakes
import pytest
import torch
from transformers import AutoModelForCausalLM

from mgpo.algorithm.policy_loss import batch_denominator
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.data.packing import plan_microbatches
from mgpo.learner.rows import TrainingRow
from mgpo.learner.setup import LearnerSetup

pytestmark = [pytest.mark.ray, pytest.mark.slow]

VOCAB_SIZE = 259
TEMPERATURE = 0.7


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=3)
    return path


def make_rows(count: int, seed: int = 0) -> list[TrainingRow]:
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        prompt_len, completion_len = rng.randint(3, 20), rng.randint(1, 60)
        rows.append(
            TrainingRow(
                token_ids=tuple(
                    rng.randrange(VOCAB_SIZE) for _ in range(prompt_len + completion_len)
                ),
                prompt_len=prompt_len,
                rollout_logprobs=tuple(rng.uniform(-6.5, -4.5) for _ in range(completion_len)),
                advantage=rng.gauss(0, 1),
            )
        )
    return rows


class Ranks:
    """Learner ranks that return gradients; started once for all tests that ask for the same."""

    def __init__(self, model_path) -> None:
        self._model_path = model_path
        self._started: dict[str, list] = {}

    def gradient(self, rows, *, num_ranks=1, max_tokens=10_000, **learner):
        import ray

        plan = plan_microbatches([len(row.token_ids) for row in rows], max_tokens, num_ranks)
        denominator = batch_denominator([row.num_trained_tokens for row in rows], AlgorithmConfig())
        calls = [
            rank.gradients.remote([[rows[i] for i in batch] for batch in batches], denominator)
            for rank, batches in zip(self._ranks(num_ranks, learner), plan, strict=True)
        ]
        return ray.get(calls, timeout=120)[0]

    def _ranks(self, num_ranks: int, learner: dict) -> list:
        key = repr((num_ranks, learner))
        if key not in self._started:
            self._started[key] = self._start(LearnerConfig(num_ranks=num_ranks, **learner))
        return self._started[key]

    def _start(self, learner: LearnerConfig) -> list:
        import ray

        from mgpo.learner.worker import LearnerWorker

        class GradientProbe(LearnerWorker):
            def gradients(self, microbatches, denominator):
                causal_lm = self._model.causal_lm
                causal_lm.zero_grad()
                self.accumulate(microbatches, "policy", denominator)
                return {
                    name: parameter.grad.full_tensor() / denominator
                    for name, parameter in causal_lm.named_parameters()
                }

        setup = LearnerSetup(
            learner=learner,
            dtype="float32",
            algorithm=AlgorithmConfig(),
            model_source=str(self._model_path),
            vocab_size=VOCAB_SIZE,
            temperature=TEMPERATURE,
            device="cpu",
            shares_device=False,
            num_threads=1,
        )
        actor = ray.remote(GradientProbe).options(num_cpus=0)
        ranks = [actor.remote(setup) for _ in range(learner.num_ranks)]
        address = ray.get(ranks[0].address.remote())
        ray.get([rank.start.remote(i, len(ranks), address) for i, rank in enumerate(ranks)])
        return ranks

    def close(self) -> None:
        import ray

        for ranks in self._started.values():
            for rank in ranks:
                ray.kill(rank)


@pytest.fixture(scope="module")
def ranks(ray_cluster, model_path) -> Iterator[Ranks]:
    ranks = Ranks(model_path)
    yield ranks
    ranks.close()


def slow_gradient(model_path, rows):
    """One row at a time through the plain transformers model and the formula as it is printed."""
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    total = torch.zeros(())
    for row in rows:
        logits = model(torch.tensor([row.token_ids])).logits[0, :, :VOCAB_SIZE] / TEMPERATURE
        targets = torch.tensor(row.token_ids[row.prompt_len :])
        logprobs = logits[row.prompt_len - 1 : -1].log_softmax(-1)[range(len(targets)), targets]
        ratio = (logprobs - logprobs.detach()).exp()
        correction = (logprobs.detach() - torch.tensor(row.rollout_logprobs)).exp().clamp(max=2.0)
        total = total - (ratio * correction * row.advantage).mean() / len(rows)
    total.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_close(got, expected):
    assert got.keys() == expected.keys()
    for name in expected:
        difference = (got[name] - expected[name]).norm() / expected[name].norm()
        assert difference <= 1e-5, name


def test_packed_batch_equals_one_sample_at_a_time(ranks, model_path):
    rows = make_rows(13)
    assert_close(ranks.gradient(rows), slow_gradient(model_path, rows))


@pytest.mark.parametrize("max_tokens", [80, 150, 400])
def test_microbatch_budget_changes_nothing(ranks, model_path, max_tokens):
    rows = make_rows(13)
    got = ranks.gradient(rows, max_tokens=max_tokens)
    assert_close(got, slow_gradient(model_path, rows))


def test_two_ranks_equal_one(ranks, model_path):
    rows = make_rows(13)
    got = ranks.gradient(rows, num_ranks=2, max_tokens=150)
    assert_close(got, slow_gradient(model_path, rows))


def test_three_samples_on_two_ranks_equal_one_rank(ranks, model_path):
    rows = make_rows(3, seed=5)
    got = ranks.gradient(rows, num_ranks=2, max_tokens=80)
    assert_close(got, slow_gradient(model_path, rows))


def test_chunked_head_and_checkpointing_change_nothing(ranks, model_path):
    rows = make_rows(13)
    got = ranks.gradient(rows, head_chunk_tokens=7, activation_checkpointing=True)
    assert_close(got, slow_gradient(model_path, rows))


def test_order_of_rows_changes_nothing(ranks, model_path):
    rows = make_rows(13)
    assert_close(ranks.gradient(rows[::-1]), slow_gradient(model_path, rows))


@pytest.mark.parametrize("num_ranks", [1, 2])
def test_flat_groups_alone_give_no_gradient(ranks, num_ranks):
    flat = [
        TrainingRow(
            token_ids=row.token_ids,
            prompt_len=row.prompt_len,
            rollout_logprobs=row.rollout_logprobs,
            advantage=0.0,
        )
        for row in make_rows(3)
    ]
    got = ranks.gradient(flat, num_ranks=num_ranks)
    assert all(float(value.abs().max()) == 0.0 for value in got.values())


def test_flat_groups_still_count_in_the_denominator(ranks):
    rows = make_rows(4)
    flat = TrainingRow(
        token_ids=rows[0].token_ids,
        prompt_len=rows[0].prompt_len,
        rollout_logprobs=rows[0].rollout_logprobs,
        advantage=0.0,
    )
    alone = ranks.gradient(rows)
    diluted = ranks.gradient([*rows, flat, flat, flat, flat])
    assert_close(diluted, {name: value / 2 for name, value in alone.items()})
