"""From graded samples to the figures of a benchmark, each with its interval over problems."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgpo.algorithm.interval import mean_over_problems, ratio_over_problems
from mgpo.algorithm.majority import majority, majority_share
from mgpo.algorithm.pass_at_k import pass_at_k
from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.errors import UserError
from mgpo.data.rows import Row
from mgpo.stages.answer_clusters import MATH_REWARDS, AnswerClusters, Score, cluster_answers
from mgpo.tracking.sample_store import StoredSample

Figure = dict[str, float]
"""mean, low, high: a share and its 95 % interval."""


@dataclass(frozen=True, slots=True)
class ProblemSamples:
    """A problem and those of its samples that have a verdict."""

    row: Row
    samples: Sequence[StoredSample]
    num_errors: int

    @property
    def num_correct(self) -> int:
        """Samples whose verdict is right."""
        return sum(sample.is_correct for sample in self.samples)

    @property
    def accuracy(self) -> float:
        """Share of right samples."""
        return self.num_correct / len(self.samples)


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """What came out of a benchmark."""

    figures: dict[str, Any]
    """As results.json has them."""
    problems: list[dict[str, Any]]
    """A row per problem."""


def summarize_benchmark(
    config: BenchmarkConfig,
    rows: Sequence[Row],
    groups: Sequence[Sequence[StoredSample]],
    score: Score,
) -> BenchmarkResult:
    """Return the figures of a benchmark and a row per problem; `score` compares answers.

    Samples without a verdict count for nothing but their number. Raises UserError if not one
    sample has a verdict.
    """
    problems = [
        ProblemSamples(row, valid, len(group) - len(valid))
        for row, group in zip(rows, groups, strict=True)
        if (valid := [sample for sample in group if sample.is_valid])
    ]
    if not problems:
        raise UserError(f"{config.title}: not one of its samples has a verdict")
    clusters = _clusters(problems, score)
    samples = [sample for group in groups for sample in group]
    figures: dict[str, Any] = {
        "problems": len(rows),
        "problems_without_verdict": len(rows) - len(problems),
        "samples": len(samples),
        "samples_without_verdict": sum(not sample.is_valid for sample in samples),
        **_left_out(config, problems),
        **_pass_figures(config, problems),
        **_majority_figures(config, clusters),
        **_METRICS[config.metric](problems),
        "truncated_share": sum(sample.is_truncated for sample in samples) / len(samples),
        "tokens": sum(sample.num_tokens for sample in samples),
        "tokens_per_sample": sum(sample.num_tokens for sample in samples) / len(samples),
        **_judge_figures(samples),
    }
    shown: Sequence[AnswerClusters | None] = clusters or [None] * len(problems)
    return BenchmarkResult(
        figures,
        [_problem_row(config, problem, its) for problem, its in zip(problems, shown, strict=True)],
    )


def disagreements(
    rows: Sequence[Row], groups: Sequence[Sequence[StoredSample]]
) -> list[dict[str, Any]]:
    """Return the samples on which the rule of math and the judge model disagree."""
    return [
        {
            "id": row.id,
            "sample_index": sample.sample_index,
            "reference": row.reference,
            "correct": sample.outcome.correct,
            **{key: sample.outcome.detail.get(key) for key in ("extracted", "rule", "judge")},
        }
        for row, group in zip(rows, groups, strict=True)
        for sample in group
        if sample.outcome.detail.get("disagree")
    ]


def figure(mean_and_interval: tuple[float, float, float]) -> Figure:
    return dict(zip(("mean", "low", "high"), mean_and_interval, strict=True))


def _pass_figures(config: BenchmarkConfig, problems: Sequence[ProblemSamples]) -> dict[str, Figure]:
    """Pass@K over the problems that have K verdicts; without a K that none has."""
    shares = {
        f"pass@{k}": [
            pass_at_k(len(each.samples), each.num_correct, k)
            for each in problems
            if k <= len(each.samples)
        ]
        for k in config.ks
    }
    return {key: figure(mean_over_problems(own)) for key, own in shares.items() if own}


def _left_out(config: BenchmarkConfig, problems: Sequence[ProblemSamples]) -> dict[str, Any]:
    """Count, where there are any, the problems that have fewer verdicts than a K asks for."""
    largest = max(len(problem.samples) for problem in problems)
    counts = {
        k: sum(len(problem.samples) < k for problem in problems)
        for k in sorted({*config.ks, *config.majority_ks})
        if k <= largest
    }
    left_out = {f"@{k}": count for k, count in counts.items() if count}
    return {"left_out": left_out} if left_out else {}


def _clusters(problems: Sequence[ProblemSamples], score: Score) -> list[AnswerClusters]:
    """Return the answers of each problem; nothing where answers are no mathematics."""
    if any(problem.row.reward not in MATH_REWARDS for problem in problems):
        return []
    return cluster_answers([problem.samples for problem in problems], score)


def _majority_figures(
    config: BenchmarkConfig, clusters: Sequence[AnswerClusters]
) -> dict[str, Figure]:
    """maj@K, over the same problems as Pass@K."""
    shares = {
        f"maj@{k}": [
            majority_share(each.votes, each.is_right, k)
            for each in clusters
            if k <= len(each.votes)
        ]
        for k in config.majority_ks
    }
    return {key: figure(mean_over_problems(own)) for key, own in shares.items() if own}


def _instruction_figures(problems: Sequence[ProblemSamples]) -> dict[str, Figure]:
    """IFEval's four: by prompt (all instructions met) and by instruction, strict and loose."""
    figures = {}
    for reading, key in (("strict", "verdicts"), ("loose", "loose_verdicts")):
        met = [
            [_verdicts(problem.row, each, key) for each in problem.samples] for problem in problems
        ]
        figures[f"prompt_{reading}"] = figure(
            mean_over_problems([sum(map(all, every)) / len(every) for every in met])
        )
        figures[f"instruction_{reading}"] = figure(
            ratio_over_problems(
                [
                    (sum(map(sum, every)) / len(every), sum(map(len, every)) / len(every))
                    for every in met
                ]
            )
        )
    return figures


def _verdicts(row: Row, sample: StoredSample, key: str) -> list[bool]:
    """Return a verdict per instruction; a truncated response, which nobody graded, meets none."""
    if sample.is_truncated:
        return [False] * len(row.reference["constraints"])
    verdicts: list[bool] = sample.outcome.detail[key]
    return verdicts


def _contest_figures(problems: Sequence[ProblemSamples]) -> dict[str, Any]:
    """Accepted first attempts of each contest, and of all."""
    contests: dict[str, dict[str, int]] = defaultdict(lambda: {"accepted": 0, "attempts": 0})
    for problem in problems:
        if "contest" not in problem.row.fields:
            raise UserError(
                f"{problem.row.where}: has no field `contest`, which metric contests needs"
            )
        counts = contests[problem.row.fields["contest"]]
        counts["accepted"] += problem.num_correct
        counts["attempts"] += len(problem.samples)
    total = {
        key: sum(counts[key] for counts in contests.values()) for key in ("accepted", "attempts")
    }
    return {**total, "contests": dict(contests)}


_METRICS = {
    "accuracy": lambda problems: {},
    "instructions": _instruction_figures,
    "contests": _contest_figures,
}


def _judge_figures(samples: Sequence[StoredSample]) -> dict[str, int]:
    """Count how often rule and judge were asked both, and how often they disagree."""
    both = [sample for sample in samples if "disagree" in sample.outcome.detail]
    if not both:
        return {}
    num_disagreed = sum(bool(sample.outcome.detail["disagree"]) for sample in both)
    return {"judged_twice": len(both), "judged_differently": num_disagreed}


def _problem_row(
    config: BenchmarkConfig, problem: ProblemSamples, clusters: AnswerClusters | None
) -> dict[str, Any]:
    samples = problem.samples
    row: dict[str, Any] = {
        "id": problem.row.id,
        "samples": len(samples),
        "correct": problem.num_correct,
        "accuracy": problem.accuracy,
        **{
            f"pass@{k}": pass_at_k(len(samples), problem.num_correct, k)
            for k in config.ks
            if k <= len(samples)
        },
        "truncated": sum(sample.is_truncated for sample in samples),
        "without_verdict": problem.num_errors,
        "tokens_per_sample": sum(sample.num_tokens for sample in samples) / len(samples),
    }
    if clusters is not None:
        row["majority"] = _majority_row(clusters)
    return row


def _majority_row(clusters: AnswerClusters) -> Mapping[str, Any] | None:
    winner = majority(clusters.votes)
    if winner is None:
        return None
    return {
        "answer": clusters.answers[winner],
        "votes": clusters.votes.count(winner),
        "correct": clusters.is_right[winner],
    }
