"""The `code` reward through the real sandbox."""

import os
import time

import pytest
from sandbox_tiers import descendants, still_running

from rewards import code_tests
from rewards.config import RewardConfig
from rewards.killable_pool import KillablePool
from rewards.types import ScoreRequest
from sandbox.types import Submission

pytestmark = pytest.mark.slow

SUM = {"kind": "stdin", "tests": [{"input": "2 3", "output": "5"}, {"input": "1 1", "output": "2"}]}
RIGHT = "```python\nprint(sum(map(int, input().split())))\n```"


@pytest.fixture(scope="module")
def grade():
    yield code_tests.grade
    code_tests._sandbox().close()
    code_tests._sandbox.cache_clear()


def test_its_own_items_get_their_verdicts(grade):
    for response, reference, expected in code_tests.SELF_TEST:
        outcome = grade(response, reference)
        assert outcome.is_valid
        assert outcome.correct == expected, (response, outcome)


def test_the_detail_tells_what_the_first_refused_test_saw(grade):
    outcome = grade("```python\nprint(5)\nraise KeyError(input())\n```", SUM)
    assert (outcome.correct, outcome.reason) == (False, "re")
    assert outcome.detail["verdicts"] == ["RE", "NOT_RUN"]
    assert "KeyError: '2 3'" in outcome.detail["stderr"]


def test_a_fraction_counts_the_tests_and_only_all_of_them_are_correct(grade):
    half = grade("```python\nprint(5)\n```", SUM, fraction=True)
    assert (half.correct, half.value, half.is_graded) == (False, 0.5, True)
    whole = grade(RIGHT, SUM, fraction=True)
    assert (whole.correct, whole.value) == (True, 1.0)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("5", "an object with kind and tests"),
        ({"kind": "stdin", "tests": []}, "tests is empty"),
        ({**SUM, "code": "print(5)"}, "tests, not code"),
        ({**SUM, "kind": "function"}, "needs entry_point"),
        ({**SUM, "time_limit": 3}, "did you mean time_limit_s"),
        ({**SUM, "language": "cobol"}, "give one of python, cpp, c"),
    ],
)
def test_a_reference_that_is_none_is_an_error_and_no_verdict(grade, reference, message):
    outcome = grade(RIGHT, reference)
    assert (outcome.status, outcome.reason) == ("error", "bad_reference")
    assert message in outcome.detail["problem"]
    with pytest.raises(ValueError, match=message):
        code_tests.check_reference(reference)


def test_the_tests_are_read_once_per_grading(grade, monkeypatch):
    read = []
    from_row = Submission.from_row
    monkeypatch.setattr(
        code_tests.Submission, "from_row", lambda row: read.append(row) or from_row(row)
    )
    assert grade(RIGHT, {**SUM, "total_time_limit_s": 7}).correct
    assert [row["total_time_limit_s"] for row in read] == [7]
    assert grade("no program", SUM).reason == "no_answer"
    assert [row["total_time_limit_s"] for row in read] == [7, code_tests.TOTAL_TIME_S]


def test_a_fault_of_the_sandbox_is_no_verdict(grade):
    broken = {**SUM, "checker_code": "def check(*_): raise ValueError"}
    outcome = grade(RIGHT, broken)
    assert (outcome.status, outcome.reason) == ("error", "sandbox")


def test_sleeping_through_all_tests_is_wrong_and_not_late(grade):
    tests = [{"input": "", "output": "5"}] * 40
    reference = {"kind": "stdin", "tests": tests, "time_limit_s": 1, "total_time_limit_s": 1}
    started = time.monotonic()
    outcome = grade("```python\nimport time\ntime.sleep(100)\n```", reference, fraction=True)
    assert (outcome.status, outcome.value) == ("ok", 0.0)
    assert time.monotonic() - started < 40  # of 40 x 2.4 s


def test_it_runs_in_the_killable_processes_and_leaves_none_behind():
    before = descendants(os.getpid())
    pool = KillablePool.from_config(RewardConfig(processes_per_worker=1))
    requests = [
        ScoreRequest(reward="code", response=text, reference=SUM)
        for text in (RIGHT, RIGHT.replace("sum", "min"), RIGHT)
    ]
    outcomes = [pool.submit(request).result(timeout=120) for request in requests]
    assert [outcome.correct for outcome in outcomes] == [True, False, True]
    started = set(descendants(os.getpid())) - set(before)
    assert len(started) >= 3  # a grading process, its judge, a zygote
    pool.close()
    deadline = time.monotonic() + 10
    while (left := still_running(started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
