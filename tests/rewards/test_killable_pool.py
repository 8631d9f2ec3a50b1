"""The grading pool: every request is answered once, in time, whatever a grader does."""

import asyncio
import os
import signal
import sys
import threading
import time

import pytest

from rewards.killable_pool import KillablePool
from rewards.types import ScoreRequest


@pytest.fixture
def pool():
    pool = KillablePool(num_processes=2, timeout_s=1.5, correct_threshold=1.0)
    yield pool
    pool.close()


def ask(reward, response="", reference="", **fields):
    return ScoreRequest(
        reward=f"fake_graders.{reward}" if reward != "math" else reward,
        response=response,
        reference=reference,
        fields=fields,
    )


def score(pool, *requests):
    futures = [pool.submit(request) for request in requests]
    return [future.result(timeout=60) for future in futures]


def test_the_same_verdict_as_in_process(pool):
    right, wrong = score(pool, ask("math", r"\boxed{2}", "2"), ask("math", r"\boxed{3}", "2"))
    assert (right.word, wrong.word) == ("correct", "wrong")
    assert right.time_s > 0


def test_a_late_grading_is_an_error_and_its_process_is_replaced(pool):
    started = time.monotonic()
    late, *others = score(pool, ask("slow", "60"), *[ask("slow", "0") for _ in range(6)])
    assert (late.word, late.reason) == ("error", "timeout")
    assert all(outcome.word == "correct" for outcome in others)
    assert time.monotonic() - started < 20
    assert pool.take_restarts() == 1
    assert pool.take_restarts() == 0


def test_an_expression_that_never_ends_is_killed(pool):
    (tower,) = score(pool, ask("math", r"\boxed{9^{9^{9^{9}}}}", "x+1"))
    assert (tower.word, tower.reason) == ("error", "timeout")


def test_a_crash_costs_its_own_request_only(pool):
    crashed, *others = score(pool, ask("crashing", "crash"), *[ask("crashing") for _ in range(4)])
    assert (crashed.word, crashed.reason) == ("error", "crashed")
    assert all(outcome.word == "correct" for outcome in others)


def test_an_exception_is_an_error_with_its_text(pool):
    (outcome,) = score(pool, ask("raising", "q7"))
    assert (outcome.word, outcome.reason) == ("error", "exception")
    assert "no entry for q7" in outcome.detail["exception"]


@pytest.mark.parametrize(
    ("value", "word", "reason"),
    [("1.5", "correct", ""), ("0.5", "wrong", ""), ("nan", "error", "not_finite")],
)
def test_numbers_are_graded_and_nan_is_an_error(pool, value, word, reason):
    (outcome,) = score(pool, ask("graded", value))
    assert (outcome.word, outcome.reason) == (word, reason)
    assert outcome.is_graded == (word != "error")


def test_details_that_cannot_travel_cost_nothing(pool):
    outcomes = score(pool, *[ask("unpicklable") for _ in range(6)])
    assert [outcome.word for outcome in outcomes] == ["correct"] * 6
    assert pool.take_restarts() == 0


def test_an_outcome_with_nan_is_an_error(pool):
    (outcome,) = score(pool, ask("nan_outcome"))
    assert (outcome.word, outcome.reason) == ("error", "not_finite")


def test_another_type_is_an_error(pool):
    (outcome,) = score(pool, ask("strange"))
    assert (outcome.reason, outcome.detail["returned"]) == ("wrong_type", "str")


def test_output_of_a_grader_does_not_disturb_the_protocol(pool):
    outcomes = score(pool, *[ask("noisy", str(i % 2), "0") for i in range(6)])
    assert [outcome.correct for outcome in outcomes] == [True, False] * 3


def test_fields_of_the_row_reach_the_grader(pool):
    seven, other = score(pool, ask("echo_fields", level=7), ask("echo_fields", level=6))
    assert (seven.correct, other.correct) == (True, False)


def test_async_graders_run_and_are_killed_when_late(pool):
    quick, late = score(pool, ask("patient", "0.01"), ask("patient", "60"))
    assert (quick.word, late.reason) == ("correct", "timeout")


def test_a_reward_that_cannot_be_imported_is_an_error(pool):
    (outcome,) = score(pool, ask("nowhere_to_be_found"))
    assert outcome.reason == "bad_reward"
    assert "nowhere_to_be_found" in outcome.detail["problem"]


def test_requests_from_many_threads_and_asyncio_get_their_own_answers(pool):
    results = {}

    def work(thread):
        values = [f"{thread}.{i}" for i in range(10)]
        outcomes = score(pool, *[ask("graded", value) for value in values])
        results[thread] = [outcome.value for outcome in outcomes]

    async def work_async():
        futures = [pool.submit(ask("graded", f"9.{i}")) for i in range(10)]
        return [o.value for o in await asyncio.gather(*map(asyncio.wrap_future, futures))]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    assert asyncio.run(work_async()) == [float(f"9.{i}") for i in range(10)]
    for thread in threads:
        thread.join()
    assert results == {n: [float(f"{n}.{i}") for i in range(10)] for n in range(4)}


def test_the_callers_signals_and_recursion_limit_are_untouched(pool):
    before = signal.getsignal(signal.SIGALRM), sys.getrecursionlimit()
    score(pool, ask("math", r"\boxed{x+1}", "1+x"))
    assert (signal.getsignal(signal.SIGALRM), sys.getrecursionlimit()) == before


def test_replaced_processes_leak_no_descriptors_and_closing_ends_them():
    pool = KillablePool(num_processes=1, timeout_s=0.3, correct_threshold=1.0)
    score(pool, ask("slow", "0"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(4):
        score(pool, ask("slow", "60"))
    (outcome,) = score(pool, ask("pid"))
    assert len(os.listdir("/proc/self/fd")) <= before
    pool.close()
    assert not os.path.exists(f"/proc/{int(outcome.value)}")
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(ask("pid"))


def test_closing_answers_what_is_still_queued():
    pool = KillablePool(num_processes=1, timeout_s=1.0, correct_threshold=1.0)
    futures = [pool.submit(ask("slow", "0.5")) for _ in range(5)]
    time.sleep(0.2)
    pool.close()
    assert all(future.done() for future in futures)
