"""From trajectories to their claims and the model's own verdicts on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgpo.algorithm.claim_score import reliability
from mgpo.config.clr import ClrConfig
from mgpo.data.claim_prompts import (
    CallProblem,
    ClaimTemplates,
    Extracted,
    read_extraction,
    read_solution,
    read_verdict,
)
from mgpo.data.rows import Row, problem_of
from mgpo.stages.claims.asking import Asker, Question, Reply
from mgpo.tracking.sample_store import StoredSample


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """The model's verdict on one claim."""

    holds: bool | None
    """None: there is no verdict, and the claim counts for nothing."""
    problem: CallProblem | None
    """Why there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTrajectory:
    """A trajectory, what was extracted from it, and what of that holds."""

    sample: StoredSample
    index: int
    """Place among its problem's trajectories, those of all repeats."""
    extracted: Extracted | None
    """None: nothing was, because of `problem`, or because the trajectory is truncated."""
    problem: CallProblem | None
    checks: tuple[Check, ...]
    """One per claim."""
    reliability: float
    """r, from 0 to 1."""
    num_question_tokens: int
    """Sampled tokens of extraction and verification."""

    def record(self) -> dict[str, Any]:
        """Return it as a row for people."""
        claims = self.extracted.claims if self.extracted else ()
        return {
            "id": self.sample.prompt_id,
            "trajectory": self.index,
            "sample_index": self.sample.sample_index,
            "truncated": self.sample.is_truncated,
            "answer": self.extracted.answer if self.extracted else None,
            "extraction": self.problem or ("ok" if self.extracted else "not_asked"),
            "claims": [
                {"claim": claim, "holds": check.holds, "verification": check.problem or "ok"}
                for claim, check in zip(claims, self.checks, strict=True)
            ],
            "reliability": self.reliability,
            "question_tokens": self.num_question_tokens,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimFiles:
    """Where the answers of a benchmark lie."""

    claims: Path
    verdicts: Path


@dataclass(frozen=True, slots=True)
class _Task:
    """One trajectory on its way."""

    row: Row
    index: int
    sample: StoredSample

    @property
    def subject(self) -> str:
        """What a question about it is known by; nothing in it depends on other trajectories."""
        return f"{self.row.id}/{self.index}"

    @property
    def solution(self) -> str:
        return read_solution(self.sample.text)


def check_trajectories(
    rows: Sequence[Row],
    groups: Sequence[Sequence[StoredSample]],
    asker: Asker,
    templates: ClaimTemplates,
    config: ClrConfig,
    files: ClaimFiles,
) -> list[list[CheckedTrajectory]]:
    """Extract the claims of each problem's trajectories, and have each claim verified.

    Truncated trajectories are not asked about. Raises UserError.
    """
    tasks = [
        _Task(row, index, sample)
        for row, group in zip(rows, groups, strict=True)
        for index, sample in enumerate(group)
    ]
    asked = [task for task in tasks if not task.sample.is_truncated]
    replies = asker.ask(
        [
            Question(
                subject=task.row.id,
                index=task.index,
                text=templates.extract(
                    problem_of(task.row.messages), task.solution, config.num_claims
                ),
            )
            for task in asked
        ],
        config.extraction,
        files.claims,
        config.extraction.section,
    )
    extracted = [_read(reply, config.num_claims) for reply in replies]
    verdicts = iter(_verify(asked, extracted, asker, templates, config, files.verdicts))
    done = iter(
        [
            _checked(task, each, reply, verdicts, config.num_claims)
            for task, each, reply in zip(asked, extracted, replies, strict=True)
        ]
    )
    checked = iter([_unasked(task) if task.sample.is_truncated else next(done) for task in tasks])
    return [[next(checked) for _ in group] for group in groups]


def _read(reply: Reply, num_claims: int) -> Extracted | None:
    return None if reply.problem else read_extraction(reply.text, num_claims)


def _verify(
    tasks: Sequence[_Task],
    extracted: Sequence[Extracted | None],
    asker: Asker,
    templates: ClaimTemplates,
    config: ClrConfig,
    path: Path,
) -> list[Reply]:
    """Return a reply to each claim of each trajectory, in order."""
    questions = [
        Question(
            subject=task.subject,
            index=number,
            text=templates.verify(problem_of(task.row.messages), task.solution, claim),
        )
        for task, each in zip(tasks, extracted, strict=True)
        for number, claim in enumerate(each.claims if each else ())
    ]
    return asker.ask(questions, config.verification, path, config.verification.section)


def _checked(
    task: _Task,
    extracted: Extracted | None,
    reply: Reply,
    verdicts: Iterator[Reply],
    num_claims: int,
) -> CheckedTrajectory:
    """Take the trajectory's own verdicts from `verdicts`."""
    its = [next(verdicts) for _ in extracted.claims] if extracted else []
    checks = tuple(map(_check, its))
    return CheckedTrajectory(
        sample=task.sample,
        index=task.index,
        extracted=extracted,
        problem=reply.problem or (None if extracted else "unreadable"),
        checks=checks,
        reliability=reliability(
            [check.holds for check in checks if check.holds is not None], num_claims
        ),
        num_question_tokens=reply.num_tokens + sum(each.num_tokens for each in its),
    )


def _check(reply: Reply) -> Check:
    holds = None if reply.problem else read_verdict(reply.text)
    problem = reply.problem or ("unreadable" if holds is None else None)
    return Check(holds=holds, problem=problem)


def _unasked(task: _Task) -> CheckedTrajectory:
    return CheckedTrajectory(
        sample=task.sample,
        index=task.index,
        extracted=None,
        problem=None,
        checks=(),
        reliability=0.0,
        num_question_tokens=0,
    )
