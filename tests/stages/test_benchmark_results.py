"""Figures of benchmarks against numbers worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.errors import UserError
from mgpo.config.sampling import SamplingConfig
from mgpo.data.rows import Row
from mgpo.stages.answer_clusters import cluster_answers
from mgpo.stages.benchmark_results import disagreements, summarize_benchmark
from mgpo.tracking.sample_store import StoredSample
from rewards import math_answer
from rewards.types import Outcome, ScoreRequest, error


def make_row(name: str, reward: str = "math", reference: Any = "2", **fields: Any) -> Row:
    return Row(
        id=name,
        messages=({"role": "user", "content": "?"},),
        domain="math",
        reward=reward,
        reference=reference,
        fields=fields,
        where=name,
    )


def make_sample(
    row: Row, index: int, outcome: Outcome, *, is_cut: bool = False, num_tokens: int = 10
) -> StoredSample:
    return StoredSample(
        prompt_id=row.id,
        sample_index=index,
        text="",
        num_tokens=num_tokens,
        finish_reason="length" if is_cut else "stop",
        mean_logprob=None,
        outcome=outcome,
    )


def verdict(is_right: bool, **detail: Any) -> Outcome:
    return Outcome(status="ok", correct=is_right, value=float(is_right), detail=detail)


def group_of(row: Row, outcomes: Sequence[Outcome]) -> list[StoredSample]:
    return [make_sample(row, index, outcome) for index, outcome in enumerate(outcomes)]


def score(requests: Sequence[ScoreRequest]) -> list[Outcome]:
    return [math_answer.grade(each.response, each.reference) for each in requests]


def make_config(count: int, **settings: Any) -> BenchmarkConfig:
    sampling = SamplingConfig(samples_per_prompt=count)
    return BenchmarkConfig(title="T", sampling=sampling, **settings)


def answered(*answers: tuple[str, bool]) -> list[Outcome]:
    return [verdict(is_right, extracted=text) for text, is_right in answers]


def test_pass_at_k_and_majority() -> None:
    rows = [make_row("a"), make_row("b", reference="0.5")]
    groups = [
        group_of(rows[0], answered(("2", True), ("3", False), ("3", False), ("7", False))),
        group_of(
            rows[1], answered(("0.5", True), (r"\frac{1}{2}", True), ("1", False), ("", False))
        ),
    ]
    result = summarize_benchmark(make_config(4), rows, groups, score)
    figures = result.figures
    assert figures["pass@1"]["mean"] == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert figures["pass@2"]["mean"] == pytest.approx((1 - 3 / 6 + 1 - 1 / 6) / 2)
    assert figures["pass@4"]["mean"] == 1.0
    assert figures["pass@1"]["low"] < 0.375 < figures["pass@1"]["high"]
    assert figures["maj@4"]["mean"] == 0.5  # a: 3 twice, wrong; b: 0.5 and 1/2 are one answer
    assert [row["majority"] for row in result.problems] == [
        {"answer": "3", "votes": 2, "correct": False},
        {"answer": "0.5", "votes": 2, "correct": True},
    ]
    assert [row["accuracy"] for row in result.problems] == [0.25, 0.5]
    assert (figures["tokens"], figures["tokens_per_sample"]) == (80, 10.0)


def test_equal_answers_are_one_cluster_however_they_are_written() -> None:
    row = make_row("a")
    texts = ["1/2", "0.5", "3", r"\dfrac12", "0.5", "3.0"]
    group = group_of(row, answered(*((text, text != "3") for text in texts)))
    [clusters] = cluster_answers([group], score)
    assert clusters.votes == [0, 0, 1, 0, 0, 1]
    assert clusters.answers == ["1/2", "3"]


def test_answers_that_cannot_be_compared_are_different() -> None:
    row = make_row("a")
    group = group_of(row, answered(("=", False), ("5 +", False), ("=", False)))
    [clusters] = cluster_answers([group], score)
    assert clusters.votes == [0, 1, 0]

    def fail(requests: Sequence[ScoreRequest]) -> list[Outcome]:
        return [Outcome(status="error", correct=True) for _ in requests]

    [clusters] = cluster_answers([group_of(row, answered(("2", True), ("3", False)))], fail)
    assert clusters.votes == [0, 1]


def test_a_problem_with_too_few_verdicts_is_left_out_of_that_k_alone() -> None:
    rows = [make_row("a"), make_row("b")]
    groups = [
        group_of(rows[0], answered(("2", True), ("2", True), ("3", False), ("2", True))),
        group_of(rows[1], [*answered(("3", False), ("4", False), ("5", False)), error("timeout")]),
    ]
    config = make_config(4)
    figures = summarize_benchmark(config, rows, groups, score).figures
    assert figures["pass@2"]["mean"] == pytest.approx((1 + 0) / 2)
    assert figures["pass@4"]["mean"] == figures["maj@4"]["mean"] == 1.0  # of a alone
    assert figures["left_out"] == {"@4": 1}
    whole = summarize_benchmark(config, rows[:1], groups[:1], score).figures
    assert "left_out" not in whole


def test_what_is_truncated_or_unjudged_does_not_vote_and_does_not_count() -> None:
    row = make_row("a")
    cut = verdict(False)
    group = [
        make_sample(row, 0, verdict(True, extracted="2")),
        make_sample(row, 1, cut, is_cut=True, num_tokens=100),
        make_sample(row, 2, error("timeout")),
    ]
    result = summarize_benchmark(make_config(3), [row], [group], score)
    assert result.figures["pass@1"]["mean"] == 0.5  # of two with a verdict
    assert "pass@4" not in result.figures
    assert "maj@3" not in result.figures  # only two have a verdict
    assert result.figures["samples_without_verdict"] == 1
    assert result.figures["truncated_share"] == pytest.approx(1 / 3)
    assert result.problems[0]["without_verdict"] == 1


def test_a_problem_without_any_verdict_is_counted_and_left_out() -> None:
    rows = [make_row("a"), make_row("b")]
    groups = [group_of(rows[0], [error("x")]), group_of(rows[1], answered(("2", True)))]
    result = summarize_benchmark(make_config(1), rows, groups, score)
    assert result.figures["pass@1"]["mean"] == 1.0
    assert result.figures["problems_without_verdict"] == 1
    with pytest.raises(UserError, match="T: not one of its samples has a verdict"):
        summarize_benchmark(make_config(1), rows[:1], groups[:1], score)


def test_instructions_are_counted_by_prompt_and_by_instruction() -> None:
    two = {"constraints": [{"id": "x"}, {"id": "y"}]}
    rows = [
        make_row("a", "constraints", {"constraints": [{"id": "x"}]}),
        make_row("b", "constraints", two),
    ]
    groups = [
        [make_sample(rows[0], 0, verdict(True, verdicts=[True], loose_verdicts=[True]))],
        [
            make_sample(
                rows[1], 0, verdict(False, verdicts=[True, False], loose_verdicts=[True] * 2)
            )
        ],
    ]
    config = make_config(1, metric="instructions")
    figures = summarize_benchmark(config, rows, groups, score).figures
    means = {key: figures[key]["mean"] for key in figures if key.startswith(("prompt", "instr"))}
    assert means == pytest.approx(
        {
            "prompt_strict": 1 / 2,
            "instruction_strict": 2 / 3,
            "prompt_loose": 1.0,
            "instruction_loose": 1.0,
        }
    )
    assert figures["pass@1"]["mean"] == means["prompt_strict"]
    groups[1] = [make_sample(rows[1], 0, verdict(False), is_cut=True)]
    cut = summarize_benchmark(config, rows, groups, score).figures
    assert cut["instruction_loose"]["mean"] == pytest.approx(1 / 3)


def test_contests_count_accepted_attempts() -> None:
    rows = [make_row(f"p{n}", "code", {}, contest=f"weekly {n // 4}") for n in range(8)]
    groups = [
        group_of(row, [verdict(n + attempt < 6) for attempt in range(4)])
        for n, row in enumerate(rows)
    ]
    figures = summarize_benchmark(make_config(4, metric="contests"), rows, groups, score).figures
    assert figures["contests"] == {
        "weekly 0": {"accepted": 15, "attempts": 16},
        "weekly 1": {"accepted": 3, "attempts": 16},
    }
    assert (figures["accepted"], figures["attempts"]) == (18, 32)
    with pytest.raises(UserError, match="has no field `contest`"):
        summarize_benchmark(make_config(4, metric="contests"), [make_row("q")], groups[:1], score)


def test_disagreements_of_rule_and_judge_are_counted_and_listed() -> None:
    row = make_row("a", "math_judge")
    rule = {"verdict": "wrong", "reason": "x"}
    group = group_of(
        row,
        [
            verdict(True, extracted="two", rule=rule, judge={"verdict": "yes"}, disagree=True),
            verdict(False, extracted="3", rule=rule, judge={"verdict": "no"}, disagree=False),
        ],
    )
    figures = summarize_benchmark(make_config(2), [row], [group], score).figures
    assert (figures["judged_twice"], figures["judged_differently"]) == (2, 1)
    [listed] = disagreements([row], [group])
    assert (listed["extracted"], listed["reference"], listed["rule"]) == ("two", "2", rule)
