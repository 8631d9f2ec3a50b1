"""The grading pool: every request is answered once, in time, whatever a grader does."""

import asyncio
import os
import pickle
import signal
import sys
import threading
import time

import pytest

from rewards import killable_pool
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


def test_an_expression_that_would_never_end_is_decided_unevaluated(pool):
    (tower,) = score(pool, ask("math", r"\boxed{9^{9^{9^{9}}}}", "x+1"))
    assert (tower.word, tower.reason) == ("wrong", "too_big")
    assert pool.take_restarts() == 0


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


def test_late_async_graders_are_cancelled_without_losing_their_process(pool):
    quick, late = score(pool, ask("patient", "0.01"), ask("patient", "60"))
    assert (quick.word, late.word, late.reason) == ("correct", "error", "timeout")
    assert pool.take_restarts() == 0


@pytest.mark.slow
def test_async_graders_that_refuse_to_be_cancelled_are_killed(pool):
    (late,) = score(pool, ask("stubborn"))
    assert (late.word, late.reason) == ("error", "timeout")
    assert pool.take_restarts() == 1


def test_a_timeout_that_a_grader_raises_is_its_own_exception(pool):
    (outcome,) = score(pool, ask("own_timeout"))
    assert outcome.reason == "exception"
    assert "the judge did not answer" in outcome.detail["exception"]


def test_a_grader_that_takes_too_much_memory_is_an_error(pool):
    (outcome,) = score(pool, ask("hungry"))
    assert outcome.reason == "exception"
    assert "MemoryError" in outcome.detail["exception"]


def test_an_answer_that_cannot_be_read_costs_its_own_request_only(pool):
    unreadable, *others = score(pool, ask("unreadable"), *[ask("slow", "0") for _ in range(4)])
    assert (unreadable.word, unreadable.reason) == ("error", "crashed")
    assert all(outcome.correct for outcome in others)


def test_a_plugin_on_the_parents_path_is_imported_by_the_processes(tmp_path, monkeypatch):
    (tmp_path / "my_plugin.py").write_text(
        "def grade(response, reference, **fields):\n    return response == reference[::-1]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    pool = KillablePool(num_processes=1, timeout_s=5.0, correct_threshold=1.0)
    outcomes = score(
        pool,
        ScoreRequest(reward="my_plugin.grade", response="ab", reference="ba"),
        ScoreRequest(reward="my_plugin:grade", response="ab", reference="ab"),
    )
    pool.close()
    assert [outcome.word for outcome in outcomes] == ["correct", "wrong"]


def test_a_cancelled_request_costs_no_other(pool):
    running = [pool.submit(ask("slow", "0.5")) for _ in range(2)]
    waiting = [pool.submit(ask("slow", "0")) for _ in range(3)]
    assert all(future.cancel() for future in waiting)
    later = score(pool, *[ask("slow", "0") for _ in range(4)])
    assert all(outcome.correct for outcome in later)
    assert all(future.result(timeout=10).correct for future in running)


def test_a_request_that_cannot_be_sent_is_refused_at_once(pool):
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pool.submit(ask("slow", "0", callback=lambda: None))
    assert score(pool, ask("slow", "0"))[0].correct


@pytest.mark.slow
def test_a_process_that_stopped_reading_does_not_hold_up_its_lane(monkeypatch):
    monkeypatch.setattr(killable_pool, "_STALL_S", 0.5)
    pool = KillablePool(num_processes=1, timeout_s=5.0, correct_threshold=1.0)
    assert score(pool, ask("stopping"))[0].correct
    time.sleep(0.5)
    started = time.monotonic()
    (outcome,) = score(pool, ask("stopping", "x" * 4_000_000))
    assert time.monotonic() - started < 10
    pool.close()
    assert outcome.correct


def test_a_process_that_cannot_be_started_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    pool = KillablePool(num_processes=1, timeout_s=1.0, correct_threshold=1.0)
    (outcome,) = score(pool, ask("slow", "0"))
    assert (outcome.reason, "nowhere" in outcome.detail["problem"]) == ("no_process", True)
    monkeypatch.undo()
    assert score(pool, ask("slow", "0"))[0].correct
    pool.close()


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


@pytest.mark.slow
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


def test_closing_fails_what_is_queued_or_running_at_once():
    pool = KillablePool(num_processes=1, timeout_s=60.0, correct_threshold=1.0)
    score(pool, ask("slow", "0"))
    futures = [pool.submit(ask("slow", "60")) for _ in range(3)]
    time.sleep(0.2)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 5
    assert [future.result(timeout=0).reason for future in futures] == ["closed"] * 3
    pool.close()


def test_a_process_that_cannot_be_started_is_an_error_and_the_lane_lives():
    pool = KillablePool(
        num_processes=1, timeout_s=1.0, correct_threshold=1.0, environment={"A": "x\0y"}
    )
    for _ in range(2):
        (outcome,) = score(pool, ask("slow", "0"))
        assert (outcome.word, outcome.reason) == ("error", "no_process")
    pool.close()
