"""The figures of claim-level reliability on a benchmark, each with its interval over problems."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mgpo.algorithm.interval import difference_over_problems, mean_over_problems
from mgpo.config.clr import ClrConfig
from mgpo.config.errors import UserError
from mgpo.stages.claims.checking import CheckedTrajectory
from mgpo.stages.claims.choices import ProblemAnswers

Shares = dict[str, float]
"""Method -> share of right answers to one problem, over the repeats."""


@dataclass(frozen=True, slots=True)
class ClrResult:
    """What came out of a benchmark."""

    figures: dict[str, Any]
    """As results.json has them."""
    problems: list[dict[str, Any]]
    """A row per problem."""


def summarize_claims(config: ClrConfig, answers: Sequence[ProblemAnswers]) -> ClrResult:
    """Return the figures of a benchmark and a row per problem.

    Trajectories without a verdict do not vote; problems without any verdict are left out and
    counted. Raises UserError if no problem is left.
    """
    size = config.num_trajectories
    kept = [each for each in answers if any(_is_valid(one) for one in each.trajectories)]
    if not kept:
        raise UserError(
            f"{answers[0].row.where} and {len(answers) - 1} other problems: not one trajectory has "
            "a verdict; outcome.reason of the samples says why"
        )
    shares = [_shares(each, size) for each in kept]
    trajectories = [one for each in answers for one in each.trajectories]
    methods = [name for name in shares[0] if all(name in each for each in shares)]
    clr, votes = f"clr@{size}", f"maj@{size}"
    gain = difference_over_problems(
        [each[votes] for each in shares], [each[clr] for each in shares]
    )
    figures = {
        "problems": len(answers),
        "problems_without_verdict": len(answers) - len(kept),
        "trajectories": size,
        "claims": config.num_claims,
        "repeats": config.num_repeats,
        **{name: _figure(mean_over_problems([each[name] for each in shares])) for name in methods},
        "clr_gain": _figure(gain),
        **_tokens(trajectories, size, methods),
        "clr_of_repeats": _by_repeat(kept, size),
        "trajectories_truncated": sum(each.sample.is_truncated for each in trajectories),
        "trajectories_without_verdict": sum(not _is_valid(each) for each in trajectories),
        "answers_without_verdict": sum(each.num_ungraded for each in answers),
        "extraction": _extraction_counts(trajectories, config.num_claims),
        "verification": _verification_counts(trajectories),
    }
    return ClrResult(
        figures,
        [_problem_row(each, its, size) for each, its in zip(kept, shares, strict=True)],
    )


def _is_valid(trajectory: CheckedTrajectory) -> bool:
    return trajectory.sample.is_valid


def _figure(mean_and_interval: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("mean", "low", "high"), mean_and_interval, strict=True))


def _shares(problem: ProblemAnswers, size: int) -> Shares:
    """Return the share of each method, without logprob@K where log-probs are missing."""
    sets = problem.sets(size)
    valid = [each.sample for each in problem.trajectories if _is_valid(each)]
    likeliest = [problem.likeliest_is_right(part) for part in sets]
    has_logprobs = None not in likeliest
    return {
        "pass@1": _share([sample.is_correct for sample in valid]),
        f"maj@{size}": _share([problem.majority_is_right(part) for part in sets]),
        **({f"logprob@{size}": _share([bool(each) for each in likeliest])} if has_logprobs else {}),
        f"clr@{size}": _share([problem.clr(part).is_right for part in sets]),
        f"oracle@{size}": _share([_oracle(problem.trajectories[part]) for part in sets]),
    }


def _oracle(trajectories: Sequence[CheckedTrajectory]) -> bool:
    """Whether at least one of them is right."""
    return any(_is_valid(each) and each.sample.is_correct for each in trajectories)


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _tokens(
    trajectories: Sequence[CheckedTrajectory], size: int, methods: Sequence[str]
) -> dict[str, float]:
    """Return the tokens that each method samples for one answer, on average."""
    sampled = sum(each.sample.num_tokens for each in trajectories) / len(trajectories)
    asked = sum(each.num_question_tokens for each in trajectories) / len(trajectories)
    spent = dict.fromkeys(methods, sampled * size)
    spent |= {"pass@1": sampled, f"clr@{size}": (sampled + asked) * size}
    return {f"tokens.{name}": tokens for name, tokens in spent.items()}


def _by_repeat(problems: Sequence[ProblemAnswers], size: int) -> list[float]:
    """Return the share of right answers of CLR in each repeat."""
    sets = problems[0].sets(size)
    return [_share([problem.clr(part).is_right for problem in problems]) for part in sets]


def _extraction_counts(
    trajectories: Sequence[CheckedTrajectory], num_claims: int
) -> dict[str, int]:
    """Count what became of the extractions; `claims_*` are among `ok`."""
    asked = [each for each in trajectories if not each.sample.is_truncated]
    found = [each.extracted for each in asked if each.extracted is not None]
    written = [each.num_claims_written for each in found]
    return {
        "asked": len(asked),
        "ok": len(found),
        **Counter(each.problem for each in asked if each.problem is not None),
        "claims_none": sum(number == 0 for number in written),
        "claims_too_few": sum(0 < number < num_claims for number in written),
        "claims_too_many": sum(number > num_claims for number in written),
        "answer_none": sum(each.answer is None for each in found),
    }


def _verification_counts(trajectories: Sequence[CheckedTrajectory]) -> dict[str, int]:
    checks = [check for each in trajectories for check in each.checks]
    return {
        "asked": len(checks),
        "true": sum(check.holds is True for check in checks),
        "false": sum(check.holds is False for check in checks),
        **Counter(check.problem for check in checks if check.problem is not None),
        "trajectories_without": sum(
            bool(each.checks) and all(check.holds is None for check in each.checks)
            for each in trajectories
        ),
    }


def _problem_row(problem: ProblemAnswers, shares: Shares, size: int) -> dict[str, Any]:
    return {
        "id": problem.row.id,
        "accuracy": shares["pass@1"],
        **shares,
        "repeats": [problem.clr(part).clusters for part in problem.sets(size)],
    }
