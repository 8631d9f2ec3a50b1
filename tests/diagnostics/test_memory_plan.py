"""The plan's sizes are those of real models, and its parts answer to what they follow from."""

from dataclasses import replace

import fakes
import pytest

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.data import DataConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.model import ModelConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.run import RunConfig
from mgpo.config.training import RlConfig
from mgpo.diagnostics.memory_plan import ModelShape, learner_gib, plan_memory

QWEN_3B = ModelShape(
    num_layers=36,
    hidden=2048,
    intermediate=11008,
    num_heads=16,
    num_kv_heads=2,
    head_dim=128,
    vocabulary=151936,
    is_tied=True,
)


def make_config(**learner):
    return RlConfig(
        steps=1,
        run=RunConfig(name="r"),
        model=ModelConfig(path="m"),
        data=DataConfig(train="t.jsonl"),
        rollout=RolloutConfig(max_completion_tokens=65536, max_model_len=65536),
        learner=LearnerConfig(**learner),
    )


@pytest.mark.parametrize("is_tied", [True, False])
def test_parameters_are_those_of_the_model(tmp_path, is_tied):
    model = fakes.make_model(tmp_path, seed=0, head_dim=32, is_tied=is_tied)
    real = sum(parameter.numel() for parameter in model.parameters())
    assert ModelShape.of(model.config).parameters == pytest.approx(real, rel=0.01)


def test_sizes_of_a_model_of_three_billion():
    assert QWEN_3B.parameters == pytest.approx(3.09e9, rel=0.01)
    # 2.25 GiB of keys and values for a sequence of 65,536 tokens in two bytes each
    assert 2 * 65536 * QWEN_3B.cache_elements / 2**30 == 2.25


def test_parts_follow_from_ranks_tokens_and_checkpointing():
    one = learner_gib(make_config(max_tokens_per_microbatch=65536), QWEN_3B)
    eight = learner_gib(make_config(num_ranks=8, max_tokens_per_microbatch=65536), QWEN_3B)
    masters = "master weights, gradients, AdamW (float32, sharded)"
    assert one[masters] == pytest.approx(8 * eight[masters])
    assert one[masters] == pytest.approx(16 * QWEN_3B.parameters / 2**30)
    less = learner_gib(
        make_config(max_tokens_per_microbatch=65536, activation_checkpointing=True), QWEN_3B
    )
    tokens = "activations of 65536 tokens"
    assert less[tokens] < one[tokens] / 8
    half = learner_gib(make_config(max_tokens_per_microbatch=32768), QWEN_3B)
    assert half["activations of 32768 tokens"] == pytest.approx(one[tokens] / 2)


def test_a_reference_model_is_counted_where_there_is_one():
    config = make_config(num_ranks=8)
    with_kl = replace(config, algorithm=AlgorithmConfig(kl_coef=0.1))
    assert "reference model" not in learner_gib(config, QWEN_3B)
    assert learner_gib(with_kl, QWEN_3B)["reference model"] > 0.7


def test_what_does_not_fit_is_said():
    rows = dict(plan_memory(make_config(max_tokens_per_microbatch=65536), QWEN_3B, 80.0))
    assert "MORE than 80" in rows["learner, a rank"]
    fitting = make_config(
        num_ranks=8, max_tokens_per_microbatch=65536, activation_checkpointing=True
    )
    assert "MORE" not in dict(plan_memory(fitting, QWEN_3B, 80.0))["learner, a rank"]
