"""The gradient of a batch does not depend on how the batch is split over ranks and
micro-batches."""

import random
from collections.abc import Iterator
from dataclasses import replace

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
PLAIN = AlgorithmConfig()
WITH_KL = AlgorithmConfig(kl_coef=0.5)
MASKED = AlgorithmConfig(kl_coef=0.5, mismatch="geo_mask", geo_mask_low=0.5, geo_mask_high=0.65)
"""Keeps five of the thirteen rows that `make_rows` makes: the farthest mean ratio is 0.26."""
DRIFT = 1.2
"""Factor on the weights of a policy that is tested against a reference."""


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

    def gradient(self, rows, *, num_ranks=1, max_tokens=10_000, algorithm=PLAIN, **learner):
        import ray

        plan = plan_microbatches([len(row.token_ids) for row in rows], max_tokens, num_ranks)
        denominator = batch_denominator([row.num_trained_tokens for row in rows], algorithm)
        calls = [
            rank.gradients.remote([[rows[i] for i in batch] for batch in batches], denominator)
            for rank, batches in zip(self._ranks(num_ranks, algorithm, learner), plan, strict=True)
        ]
        return ray.get(calls, timeout=120)[0]

    def _ranks(self, num_ranks: int, algorithm: AlgorithmConfig, learner: dict) -> list:
        key = repr((num_ranks, algorithm, learner))
        if key not in self._started:
            config = LearnerConfig(num_ranks=num_ranks, **learner)
            self._started[key] = self._start(config, algorithm)
        return self._started[key]

    def _start(self, learner: LearnerConfig, algorithm: AlgorithmConfig) -> list:
        import ray

        from mgpo.learner.worker import LearnerWorker

        class GradientProbe(LearnerWorker):
            def start(self, *arguments):
                super().start(*arguments)
                if self._setup.algorithm.kl_coef:  # a policy that has left its start
                    with torch.no_grad():
                        for parameter in self._model.parameters():
                            parameter.mul_(DRIFT)

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
            algorithm=algorithm,
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


def slow_gradient(model_path, rows, config=PLAIN):
    """One row at a time through the plain transformers model and the formula as it is printed."""
    model, reference = (
        AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32) for _ in range(2)
    )
    if config.kl_coef:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(DRIFT)
    total = torch.zeros(())
    for row in rows:
        logprobs = plain_logprobs(model, row)
        log_mismatch = logprobs.detach() - torch.tensor(row.rollout_logprobs)
        correction = log_mismatch.exp().clamp(max=2.0)
        if config.mismatch == "geo_mask":
            is_kept = config.geo_mask_low <= log_mismatch.mean().exp() <= config.geo_mask_high
            correction = torch.full_like(logprobs, float(is_kept))
        ratio = (logprobs - logprobs.detach()).exp()
        losses = -ratio * correction * row.advantage
        if config.kl_coef:
            log_ratio = plain_logprobs(reference, row).detach() - logprobs
            k3 = log_ratio.exp() - log_ratio - 1
            losses = losses + config.kl_coef * k3 * (correction > 0)
        total = total + losses.mean() / len(rows)
    total.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def plain_logprobs(model, row):
    logits = model(torch.tensor([row.token_ids])).logits[0, :, :VOCAB_SIZE] / TEMPERATURE
    targets = torch.tensor(row.token_ids[row.prompt_len :])
    return logits[row.prompt_len - 1 : -1].log_softmax(-1)[range(len(targets)), targets]


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
    flat = [replace(row, advantage=0.0) for row in make_rows(3)]
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


@pytest.mark.parametrize(
    ("algorithm", "num_ranks", "max_tokens"),
    [(WITH_KL, 1, 10_000), (WITH_KL, 1, 80), (MASKED, 2, 10_000), (MASKED, 2, 80)],
)
def test_the_pull_to_the_reference_does_not_depend_on_the_split(
    ranks, model_path, algorithm, num_ranks, max_tokens
):
    rows = make_rows(13)
    got = ranks.gradient(rows, num_ranks=num_ranks, max_tokens=max_tokens, algorithm=algorithm)
    assert_close(got, slow_gradient(model_path, rows, algorithm))


def test_flat_groups_are_pulled_to_the_reference_too(ranks, model_path):
    rows = [replace(row, advantage=0.0) for row in make_rows(3)]
    got = ranks.gradient(rows, algorithm=WITH_KL)
    assert_close(got, slow_gradient(model_path, rows, WITH_KL))


def test_a_policy_that_has_not_moved_is_pulled_nowhere_in_half_precision(model_path):
    """The reference in bfloat16 and the fp32 masters cast to it are the same to the bit."""
    from mgpo.learner.batch import pack_rows
    from mgpo.learner.model import PolicyModel, load_causal_lm

    half = torch.bfloat16
    batch = pack_rows(make_rows(5))
    with torch.no_grad():
        reference, policy = (
            PolicyModel(model.to(half), VOCAB_SIZE, 10_000)(batch, TEMPERATURE)[0]
            for model in (
                load_causal_lm(model_path, torch.device("cpu"), half, weights_dtype=half),
                load_causal_lm(model_path, torch.device("cpu"), half),
            )
        )
    assert torch.equal(reference, policy)
