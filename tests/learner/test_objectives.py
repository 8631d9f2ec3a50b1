"""What a batch trains on, from verdicts to gradients, through a real model without ranks."""

import fakes
import pytest
import torch

from mgpo.algorithm.advantages import drop_small_groups, weigh_groups
from mgpo.algorithm.policy_loss import batch_denominator
from mgpo.algorithm.reductions import merge_all
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.learner.batch import pack_rows
from mgpo.learner.model import PolicyModel, load_causal_lm
from mgpo.learner.objectives import policy_objective
from mgpo.learner.rows import TrainingRow, rows_from_groups
from mgpo.stages.scoring import score_groups
from mgpo.types import Completion, Prompt
from rewards.types import Outcome, error

VOCAB_SIZE = 259
TEMPERATURE = 0.7


@pytest.fixture
def causal_lm(tmp_path):
    fakes.make_model(tmp_path, seed=3)
    return load_causal_lm(tmp_path, torch.device("cpu"), torch.float32)


def objective(causal_lm, rows, chunk_tokens=10_000):
    """Return loss (not divided) and metrics of one micro-batch."""
    config = AlgorithmConfig()
    batch = pack_rows(rows)
    policy = PolicyModel(causal_lm, VOCAB_SIZE, chunk_tokens)
    logprobs_N, entropy_N = policy(batch, TEMPERATURE)
    denominator = batch_denominator([row.num_trained_tokens for row in rows], config)
    return policy_objective(batch, logprobs_N, entropy_N, config, denominator)


def row(token_ids, prompt_len, **fields):
    trained = len(token_ids) - prompt_len
    return TrainingRow(
        token_ids=tuple(token_ids),
        prompt_len=prompt_len,
        rollout_logprobs=(-5.0,) * trained,
        **fields,
    )


def plain_entropies(causal_lm, each):
    """Of every distribution that a response token was drawn from, ids beyond the tokenizer's length
    left out."""
    token_ids = torch.tensor([each.token_ids])
    layout = pack_rows([each]).layout
    hidden = causal_lm.base_model(input_ids=token_ids, use_cache=False, layout=layout)
    logits = causal_lm.lm_head(hidden.last_hidden_state)[0, each.prompt_len - 1 : -1, :VOCAB_SIZE]
    return torch.distributions.Categorical(logits=logits.double() / TEMPERATURE).entropy()


@pytest.mark.parametrize("chunk_tokens", [2, 10_000])
def test_entropy_is_the_mean_over_trained_tokens_at_the_training_temperature(
    causal_lm, chunk_tokens
):
    rows = [
        row([5, 6, 7, 8, 9, 10], 2, advantage=1.0),
        row([11, 12, 13], 1, is_trained=False),
        row([20, 21, 22, 23], 3, advantage=-1.0),
    ]
    with torch.no_grad():
        trained = [plain_entropies(causal_lm, each) for each in rows if each.is_trained]
    expected = torch.cat(trained).mean().item()
    assert expected < 0.99 * torch.log(torch.tensor(VOCAB_SIZE)).item()
    _, whole = objective(causal_lm, rows, chunk_tokens=chunk_tokens)
    assert whole["loss/entropy"].value == pytest.approx(expected, rel=1e-5)
    parts = (objective(causal_lm, [each], chunk_tokens=chunk_tokens)[1] for each in rows)
    assert merge_all(parts)["loss/entropy"].value == pytest.approx(expected, rel=1e-5)


class ScriptedJudge:
    """Gives the outcome that a completion's text names: a number, or an error."""

    def submit(self, requests):
        return [request.response for request in requests]

    def collect(self, ticket):
        return [self._outcome(text) for text in ticket]

    def _outcome(self, text):
        if text == "broken":
            return error("judge_unreachable")
        if text in ("right", "wrong"):
            return Outcome(status="ok", correct=text == "right", value=float(text == "right"))
        value = float(text)
        return Outcome(status="ok", correct=value >= 1.0, value=value, is_graded=True)


def graded_groups(*groups_of_texts):
    """Score completions by their texts and weigh the groups that are left."""
    prompts = [
        Prompt(
            id=f"q{index}",
            messages=(),
            token_ids=(1, 2),
            domain="instruct",
            reward="rubric",
            reference={"rubric": "helpful"},
        )
        for index in range(len(groups_of_texts))
    ]
    finished = [
        (
            index,
            tuple(
                Completion(
                    token_ids=(10 + index, 30 + place, 50),
                    rollout_logprobs=(-5.0,) * 3,
                    finish_reason="stop",
                    policy_version=0,
                    text=text,
                )
                for place, text in enumerate(texts)
            ),
        )
        for index, texts in enumerate(groups_of_texts)
    ]
    groups, _ = drop_small_groups(score_groups(ScriptedJudge(), prompts, finished))
    return weigh_groups(groups, AlgorithmConfig())


def gradient_norm(causal_lm, groups):
    causal_lm.zero_grad()
    rows = [each for rows in rows_from_groups(groups, mask_truncated=False) for each in rows]
    loss, _ = objective(causal_lm, rows)
    loss.backward()
    return sum(float(p.grad.square().sum()) for p in causal_lm.parameters()) ** 0.5


def test_graded_rewards_of_which_none_is_one_have_a_gradient(causal_lm):
    groups = graded_groups(("0.2", "0.7", "0.4", "0.9"), ("0.1", "0.3", "0.3", "0.1"))
    assert not any(sample.is_correct for group in groups for sample in group.samples)
    assert [group.group_accuracy for group in groups] == pytest.approx([0.55, 0.2])
    assert gradient_norm(causal_lm, groups) > 1e-3
    flat = graded_groups(("0.7", "0.7", "0.7", "0.7"))
    assert gradient_norm(causal_lm, flat) == 0.0


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        (("right", "broken", "wrong", "wrong", "broken"), ("right", "wrong", "wrong")),
        (("0.2", "broken", "0.7", "0.4"), ("0.2", "0.7", "0.4")),
    ],
    ids=["verdicts", "rubric"],
)
def test_a_batch_with_judge_failures_trains_on_the_rest(causal_lm, broken, whole):
    failed, lost, complete = (broken, ("broken", "right")), broken.count("broken"), (whole,)
    with_failures, without = graded_groups(*failed), graded_groups(*complete)
    (group,), (expected,) = with_failures, without
    assert group.num_errors == lost
    assert group.group_accuracy == expected.group_accuracy
    assert group.mgpo_weight == expected.mgpo_weight
    advantages, others = (
        [sample.advantage for sample in each.samples] for each in (group, expected)
    )
    assert advantages == others
    assert gradient_norm(causal_lm, with_failures) > 1e-3
