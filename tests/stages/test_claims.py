"""Claims of trajectories through a scripted source: what is read, what is counted, what is asked
again, and what each method then answers."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mgpo.config.clr import ClrConfig, ExtractionConfig, VerificationConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.run import RunConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.data.claim_prompts import ClaimTemplates
from mgpo.data.rows import Row
from mgpo.stages.claims.asking import Asker
from mgpo.stages.claims.checking import CheckedTrajectory, ClaimFiles, check_trajectories
from mgpo.stages.claims.choices import (
    ProblemAnswers,
    check_answers_are_comparable,
    find_answers,
)
from mgpo.stages.claims.results import summarize_claims
from mgpo.stages.claims.table import solution_text
from mgpo.stages.sample_sources import Wanted
from mgpo.tracking.sample_store import UNGRADED, StoredSample
from mgpo.types import Prompt
from rewards.types import Outcome, ScoreRequest

TOO_LONG = "a solution that fills the context"


class ScriptedSource:
    """Answers by a function of what is asked; None is lost, a text that ends in ~ is cut there."""

    dispatch_size = 1

    def __init__(self, answer: Callable[[str], str | None]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def generate(
        self, todo: Sequence[Wanted], sampling: SamplingConfig
    ) -> Iterator[tuple[int, StoredSample]]:
        for index, wanted in reversed(list(enumerate(todo))):  # any order will do
            text = wanted.prompt.messages[0]["content"]
            self.asked.append(text)
            answer = self._answer(text)
            if answer is not None:
                yield index, stored(wanted.prompt.id, wanted.sample_index, answer)


def stored(prompt_id: str, index: int, text: str, logprob: float | None = -0.5) -> StoredSample:
    is_cut = text.endswith("~")
    return StoredSample(
        prompt_id=prompt_id,
        sample_index=index,
        text=text.removesuffix("~"),
        num_tokens=10,
        finish_reason="length" if is_cut else "stop",
        mean_logprob=logprob,
        outcome=UNGRADED,
    )


def score(requests: Sequence[ScoreRequest]) -> list[Outcome]:
    """Grade a boxed answer by its number: 2 and 2.0 are equal."""
    return [grade(each.response, each.reference) for each in requests]


def grade(response: str, reference: Any) -> Outcome:
    found = re.search(r"\\boxed\{(.*)\}", response)
    if found is None:
        return Outcome(status="ok", correct=False, value=0.0)
    if found.group(1) == "broken":
        return Outcome(status="error", correct=False, value=0.0, reason="grader failed")
    correct = float(found.group(1)) == float(reference)
    detail = {"extracted": found.group(1)}
    return Outcome(status="ok", correct=correct, value=float(correct), detail=detail)


def render(row: Row) -> Prompt | None:
    if TOO_LONG in row.messages[0]["content"]:
        return None
    return Prompt(
        id=row.id, messages=row.messages, token_ids=(), domain="", reward="", reference=None
    )


def problem(name: str = "p", reference: str = "2") -> Row:
    return Row(
        id=name,
        messages=({"role": "user", "content": f"problem {name}"},),
        domain="math",
        reward="math",
        reference=reference,
        fields={},
        where=name,
    )


def configure(**changes: Any) -> ClrConfig:
    values = {"num_trajectories": 2, "num_claims": 2, "num_repeats": 1, **changes}
    return ClrConfig(run=RunConfig(name="r"), model="m", benchmarks=["b"], **values)


def check(
    folder: Path,
    solutions: Sequence[str],
    answer: Callable[[str], str | None],
    config: ClrConfig,
) -> tuple[list[CheckedTrajectory], list[str]]:
    """Check the trajectories of one problem; return them, and what had to be asked."""
    source = ScriptedSource(answer)
    group = [
        (sample := stored("p", index, text)).graded(grade(sample.text, "2"))
        for index, text in enumerate(solutions)
    ]
    [checked] = check_trajectories(
        [problem()],
        [group],
        Asker(render=render, open_source=lambda: source),
        ClaimTemplates(None),
        config,
        ClaimFiles(claims=folder / "claims.jsonl", verdicts=folder / "verdicts.jsonl"),
    )
    return checked, source.asked


def solution_of(question: str) -> str:
    found = re.search(r"--- solution ---\n(.*)\n--- end ---", question, re.S)
    return found.group(1) if found else ""


def claim_of(question: str) -> str:
    found = re.search(r"--- claim ---\n(.*)\n--- end ---", question, re.S)
    return found.group(1) if found else ""


def play(question: str) -> str | None:
    """A solution is what its extraction shall be, with / for line breaks; a claim holds if it says
    so."""
    if "--- solution ---" in question:
        said = solution_of(question).replace("/", "\n")
        return None if said == "lost" else said
    verdicts: dict[str, str | None] = {
        "good": "VERDICT: true",
        "bad": "VERDICT: false",
        "vague": "perhaps",
        "endless": "VERDICT: true~",
        "lost": None,
    }
    return verdicts[claim_of(question)]


def one(folder: Path, solution: str, **changes: Any) -> CheckedTrajectory:
    [checked], _ = check(folder, [solution], play, configure(**changes))
    return checked


@pytest.mark.parametrize(
    ("solution", "claims", "answer", "reliability", "problem"),
    [
        ("CLAIM 1: good/CLAIM 2: good/ANSWER: 2", 2, "2", 1.0, None),
        ("CLAIM 1: good/CLAIM 2: bad/ANSWER: 2", 2, "2", 0.25, None),
        ("CLAIM 1: good/ANSWER: 2", 1, "2", 1.0, None),  # too few: the mean is over one
        ("CLAIM 1: bad/CLAIM 2: bad/CLAIM 3: good/ANSWER: 2", 2, "2", 0.0, None),
        ("ANSWER: 2", 0, "2", 0.0, None),
        ("CLAIM 1: good/ANSWER: none", 1, None, 1.0, None),
        ("CLAIM 1: good/CLAIM 2: vague/ANSWER: 2", 2, "2", 1.0, None),  # no verdict: left out
        ("CLAIM 1: bad/CLAIM 2: endless/ANSWER: 2", 2, "2", 0.0, None),
        ("CLAIM 1: vague/CLAIM 2: endless/ANSWER: 2", 2, "2", 0.0, None),
        ("I think that good/ANSWER is 2", 0, None, 0.0, "unreadable"),
        (TOO_LONG, 0, None, 0.0, "too_long"),
    ],
)
def test_what_is_extracted_and_verified(
    tmp_path: Path,
    solution: str,
    claims: int,
    answer: str | None,
    reliability: float,
    problem: str | None,
) -> None:
    checked = one(tmp_path, solution)
    assert (len(checked.checks), checked.problem) == (claims, problem)
    assert (checked.extracted.answer if checked.extracted else None) == answer
    assert checked.reliability == pytest.approx(reliability)
    asked = 0 if problem == "too_long" else 1 + claims
    assert checked.num_question_tokens == 10 * asked


def test_a_cut_extraction_counts_for_nothing(tmp_path: Path) -> None:
    [checked], asked = check(
        tmp_path, ["s"], lambda question: "CLAIM 1: good\nANSWER: 2~", configure()
    )
    assert (checked.problem, checked.extracted, len(asked)) == ("cut", None, 1)


def test_a_truncated_trajectory_is_not_asked_about(tmp_path: Path) -> None:
    [checked], asked = check(tmp_path, ["CLAIM 1: good/ANSWER: 2~"], play, configure())
    assert (checked.record()["extraction"], asked) == ("not_asked", [])


@pytest.mark.parametrize("solution", ["lost", "CLAIM 1: lost/ANSWER: 2"])
def test_calls_without_an_answer_end_the_run_unless_they_are_few(
    tmp_path: Path, solution: str
) -> None:
    with pytest.raises(UserError, match=r"1 of 1 calls brought no answer .*max_failed_share=0\.01"):
        one(tmp_path, solution)
    checked = one(
        tmp_path,
        solution,
        extraction=ExtractionConfig(max_failed_share=1.0),
        verification=VerificationConfig(max_failed_share=1.0),
    )
    problems = [checked.problem, *(each.problem for each in checked.checks)]
    assert "lost" in problems
    assert checked.reliability == 0.0


def test_nothing_is_asked_twice_and_what_is_missing_is_asked_again(tmp_path: Path) -> None:
    solutions = ["CLAIM 1: good/CLAIM 2: bad/ANSWER: 2", "CLAIM 1: good/ANSWER: 3"]
    whole, asked = check(tmp_path, solutions, play, configure())
    assert len(asked) == 5
    again, asked = check(tmp_path, solutions, play, configure())
    assert (again, asked) == (whole, [])
    lines = (tmp_path / "verdicts.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "verdicts.jsonl").write_text("".join(lines[:1]) + lines[1][:30])  # killed there
    again, asked = check(tmp_path, solutions, play, configure())
    assert (again, len(asked)) == (whole, 2)
    other, asked = check(tmp_path, [*solutions[:1], "ANSWER: 4"], play, configure())
    assert len(asked) == 1  # another solution is another question
    assert other[0] == whole[0]


def answers_of(
    folder: Path, solutions: Sequence[str], config: ClrConfig, reference: str = "2"
) -> ProblemAnswers:
    checked, _ = check(folder, solutions, play, config)
    [answers] = find_answers([problem(reference=reference)], [checked], score)
    return answers


def with_own(extraction: str, answer: str) -> str:
    """A solution whose extraction is scripted, and whose own answer is boxed before it, where
    lines are passed over."""
    return rf"\boxed{{{answer}}}/{extraction}"


def test_reliable_trajectories_outweigh_the_majority(tmp_path: Path) -> None:
    good = with_own("CLAIM 1: good/CLAIM 2: good/ANSWER: 2.0", "2")
    bad = with_own("CLAIM 1: bad/CLAIM 2: good/ANSWER: $3$", "3")
    config = configure(num_trajectories=4)
    answers = answers_of(tmp_path, [bad, bad, good, bad], config)
    result = summarize_claims(config, [answers])
    names = ("pass@1", "maj@4", "logprob@4", "clr@4", "oracle@4", "clr_gain")
    assert [result.figures[name]["mean"] for name in names] == [0.25, 0, 0, 1, 1, 1]
    [clusters] = result.problems[0]["repeats"]
    assert [(each["answer"], each["score"], each["members"]) for each in clusters] == [
        ("2.0", 1.0, [2]),
        ("3", 0.75, [0, 1, 3]),
    ]
    assert result.figures["tokens.pass@1"] == 10
    assert result.figures["tokens.maj@4"] == 40
    assert result.figures["tokens.clr@4"] == 40 + 4 * 30
    shown = solution_text(answers, 2)
    assert shown.startswith("answer: 2.0\n")
    assert "2.0: score 1 of 1 trajectories\n  trajectory 2: reliability 1, 2 of 2 claims" in shown
    assert "    false  bad\n    holds  good" in shown


def test_repeats_are_apart_and_averaged(tmp_path: Path) -> None:
    good = with_own("CLAIM 1: good/ANSWER: 2", "2")
    bad = with_own("CLAIM 1: good/ANSWER: 3", "3")
    config = configure(num_trajectories=2, num_repeats=2)
    result = summarize_claims(config, [answers_of(tmp_path, [good, good, bad, bad], config)])
    assert result.figures["clr@2"]["mean"] == result.figures["maj@2"]["mean"] == 0.5
    assert result.figures["clr_of_repeats"] == [1.0, 0.0]


def test_failed_extraction_leaves_the_trajectorys_own_answer_without_weight(tmp_path: Path) -> None:
    config = configure(num_trajectories=3)
    unreadable = r"\boxed{3}"
    none = with_own("CLAIM 1: good/ANSWER: none", "2")
    answers = answers_of(tmp_path, [unreadable, unreadable, none], config)
    assert answers.own.votes == [0, 0, 1]
    assert answers.extracted.votes == [0, 0, None]
    figures = summarize_claims(config, [answers]).figures
    assert figures["clr@3"]["mean"] == 0.0
    assert figures["extraction"]["unreadable"] == 2
    assert figures["extraction"]["answer_none"] == 1
    assert "without an answer: 1 trajectories\n  trajectory 2" in solution_text(answers, 2)


def test_everything_that_goes_wrong_is_counted(tmp_path: Path) -> None:
    solutions = [
        "CLAIM 1: good/CLAIM 2: vague/ANSWER: 2",
        "CLAIM 1: good/ANSWER: 2",
        "CLAIM 1: good/CLAIM 2: bad/CLAIM 3: good/ANSWER: 2",
        "ANSWER: broken",
        "ANSWER is 2",
        TOO_LONG,
        "cut~",
        "CLAIM 1: endless/ANSWER: 2",
    ]
    config = configure(num_trajectories=8)
    figures = summarize_claims(config, [answers_of(tmp_path, solutions, config)]).figures
    assert figures["extraction"] == {
        "asked": 7,
        "ok": 5,
        "unreadable": 1,
        "too_long": 1,
        "claims_none": 1,
        "claims_too_few": 2,
        "claims_too_many": 1,
        "answer_none": 0,
    }
    assert figures["verification"] == {
        "asked": 6,
        "true": 3,
        "false": 1,
        "unreadable": 1,
        "cut": 1,
        "trajectories_without": 1,
    }
    assert (figures["trajectories_truncated"], figures["answers_without_verdict"]) == (1, 1)


def test_without_log_probs_there_is_no_vote_by_them(tmp_path: Path) -> None:
    config = configure(num_trajectories=1)
    sample = stored("p", 0, with_own("ANSWER: 2", "2"), logprob=None)
    sample = sample.graded(grade(sample.text, "2"))
    checked = CheckedTrajectory(
        sample=sample,
        index=0,
        extracted=None,
        problem="unreadable",
        checks=(),
        reliability=0.0,
        num_question_tokens=0,
    )
    figures = summarize_claims(config, find_answers([problem()], [[checked]], score)).figures
    assert "logprob@1" not in figures
    assert "tokens.logprob@1" not in figures
    assert figures["maj@1"]["mean"] == 1.0


def test_log_probs_can_outweigh_the_majority(tmp_path: Path) -> None:
    def trajectory(index: int, answer: str, logprob: float) -> CheckedTrajectory:
        sample = stored("p", index, rf"\boxed{{{answer}}}", logprob)
        return CheckedTrajectory(
            sample=sample.graded(grade(sample.text, "2")),
            index=index,
            extracted=None,
            problem="unreadable",
            checks=(),
            reliability=0.0,
            num_question_tokens=0,
        )

    likely, unlikely = math.log(0.9), math.log(0.4)
    group = [trajectory(0, "3", unlikely), trajectory(1, "3", unlikely), trajectory(2, "2", likely)]
    [answers] = find_answers([problem()], [group], score)
    assert answers.likeliest_is_right(slice(0, 3)) is True
    assert answers.majority_is_right(slice(0, 3)) is False


def test_programs_have_no_answer_to_cluster() -> None:
    with pytest.raises(ConfigError, match=r"b has rows of reward 'code' .*math, math_judge, stem"):
        check_answers_are_comparable("b", [replace(problem(), reward="code")])
