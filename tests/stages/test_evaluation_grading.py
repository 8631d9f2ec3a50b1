"""Rewards that are parts of a sum: their self-tests, their time."""

from typing import Any

from mgpo.data.inputs import every_reward
from mgpo.data.rows import Row
from mgpo.stages.evaluation_grading import with_time_for_programs
from rewards.config import RewardConfig


def make_row(reward: str, reference: Any) -> Row:
    return Row(
        id="a",
        messages=({"role": "user", "content": "?"},),
        domain="code",
        reward=reward,
        reference=reference,
        fields={},
        where="a",
    )


CODE = {"kind": "stdin", "tests": [], "total_time_limit_s": 100.0}
SUM = {
    "parts": [
        {"reward": "code", "weight": 1, "reference": CODE},
        {"reward": "fake_graders.liar", "weight": 1},
    ]
}


def test_the_parts_of_a_sum_are_named_for_the_self_test() -> None:
    rows = [make_row("weighted", SUM), make_row("math", "1")]
    assert every_reward(rows) == ["code", "fake_graders.liar", "math", "weighted"]


def test_a_program_in_a_sum_has_its_whole_time() -> None:
    config = RewardConfig()
    alone = with_time_for_programs(config, [make_row("code", CODE)])
    assert alone.deadline_s("code") == 430.0
    assert with_time_for_programs(config, [make_row("weighted", SUM)]) == alone
