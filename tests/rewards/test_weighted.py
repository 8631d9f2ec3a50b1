"""Weighted sums: the value is the sum, the verdict is one part's alone."""

import time

import pytest

from rewards.config import RewardConfig
from rewards.killable_pool import KillablePool
from rewards.registry import check_reference
from rewards.requests import check_request, longest_s, reward_names, with_options
from rewards.types import ScoreRequest
from rewards.weighted import SELF_TEST

MATH = {"reward": "math", "weight": 1.0, "reference": "12"}


@pytest.fixture(scope="module")
def pool():
    pool = KillablePool(num_processes=1, timeout_s=10.0, correct_threshold=1.0)
    yield pool
    pool.close()


def request(parts, verdict="math", response="", **fields):
    reference = {"parts": parts, "verdict": verdict}
    return ScoreRequest(reward="weighted", response=response, reference=reference, fields=fields)


def grade(pool, response, parts, verdict="math", **fields):
    return pool.submit(request(parts, verdict, response, **fields)).result(timeout=60)


def graded(weight, **keys):
    return {"reward": "fake_graders.fixed", "weight": weight, **keys}


def test_the_value_is_the_sum_and_the_verdict_is_one_parts(pool):
    parts = [MATH, graded(0.5, reference=0.5), graded(-2, reference=0.25)]
    right = grade(pool, r"\boxed{12}", parts)
    assert (right.word, right.value) == ("correct", pytest.approx(1 + 0.25 - 0.5))
    wrong = grade(pool, r"\boxed{13}", [MATH, graded(100, reference=7)])
    assert (wrong.word, wrong.value) == ("wrong", 700.0)
    assert [part["verdict"] for part in wrong.detail["parts"]] == ["wrong", "wrong"]
    assert wrong.detail["parts"][0]["detail"]["extracted"] == "13"


def test_accuracy_reads_the_verdict_and_not_the_sum(pool):
    assert not grade(pool, r"\boxed{12}", [MATH, graded(1, reference=0.5)]).is_graded


def test_a_part_without_a_verdict_makes_the_whole_an_error(pool):
    outcome = grade(pool, r"\boxed{12}", [MATH, graded(0, reference="nan")])
    assert (outcome.word, outcome.reason) == ("error", "not_finite")
    assert outcome.detail["failed"] == ["fake_graders.fixed"]
    raising = {"reward": "fake_graders.raising", "weight": 1}
    outcome = grade(pool, "q7", [MATH, raising])
    assert outcome.detail["failed"] == ["fake_graders.raising"]
    assert "no entry for q7" in str(outcome.detail["parts"][1]["detail"])
    unknown = grade(pool, "q7", [MATH, {"reward": "maths", "weight": 1}])
    assert "did you mean math?" in str(unknown.detail["parts"][1]["detail"])


def test_a_number_gives_a_verdict_only_where_the_part_says_from_when(pool):
    name = "fake_graders.fixed"
    outcome = grade(pool, "x", [graded(1, reference=0.5)], name)
    assert (outcome.word, outcome.reason) == ("error", "graded_verdict")
    half = [graded(2, reference=0.5, correct_from=0.5)]
    assert (grade(pool, "x", half, name).word, grade(pool, "x", half, name).value) == ("correct", 1)
    assert grade(pool, "x", [graded(2, reference=0.5, correct_from=0.6)], name).word == "wrong"


def test_parts_may_be_async_or_need_an_event_loop_of_their_own(pool):
    parts = [
        MATH,
        {"reward": "trl:foreign_rewards.async_reward", "weight": 0.1},
        {"reward": "trl:foreign_rewards.own_event_loop", "weight": 1},
        {"reward": "weighted", "weight": 1, "reference": {"parts": [MATH], "verdict": "math"}},
    ]
    outcome = grade(pool, r"\boxed{12}", parts)
    assert (outcome.word, outcome.value) == ("correct", pytest.approx(1 + 1 + 10 + 1))
    failing = {"reward": "fake_graders.own_timeout", "weight": 1}
    outcome = grade(pool, r"\boxed{12}", [*parts, failing])
    assert (outcome.reason, outcome.detail["failed"]) == ("exception", [failing["reward"]])


def test_a_sum_beyond_all_floats_is_an_error(pool):
    huge = {"reward": "fake_graders.fixed", "weight": 1e308, "reference": 1e10}
    outcome = grade(pool, r"\boxed{12}", [MATH, huge, {**huge, "weight": -1e308}])
    assert (outcome.word, outcome.reason) == ("error", "not_finite")


def test_each_part_has_the_deadline_of_its_reward():
    timeouts_s = {"fake_graders.slow": 0.3, "fake_graders.patient": 30.0}
    pool = KillablePool(2, timeout_s=10.0, correct_threshold=1.0, timeouts_s=timeouts_s)
    slow, patient = ({"reward": name, "weight": 1, "reference": ""} for name in timeouts_s)
    started = time.monotonic()
    late = grade(pool, "1.5", [slow, patient], "fake_graders.patient")
    assert (late.word, late.reason) == ("error", "timeout")
    assert late.detail["failed"] == ["fake_graders.slow"]
    assert late.detail["parts"][1]["verdict"] == "correct"
    assert time.monotonic() - started < 9  # of 300
    assert pool.take_restarts() == 1
    pool.close()


def test_a_part_that_kills_its_process_costs_no_other_part(pool):
    crash = {"reward": "fake_graders.crashing", "weight": 1, "reference": ""}
    outcome = grade(pool, "crash", [MATH, crash])
    assert (outcome.reason, outcome.detail["failed"]) == ("crashed", ["fake_graders.crashing"])
    assert outcome.detail["parts"][0]["verdict"] == "wrong"


def test_a_part_need_not_take_the_fields_of_every_row(pool):
    plain = {"reward": "fake_graders.plain", "weight": 1, "reference": "12"}
    outcome = grade(pool, "12", [plain], "fake_graders.plain", problem="7 + 5?")
    assert (outcome.word, outcome.value) == ("correct", 1.0)


def test_what_all_parts_decide_cheaply_needs_no_process():
    pool = KillablePool(num_processes=1, timeout_s=10.0, correct_threshold=1.0)
    inner = {"reward": "weighted", "weight": 3, "reference": {"parts": [MATH], "verdict": "math"}}
    future = pool.submit(request([MATH, inner], response=r"\boxed{12}"))
    assert future.done()
    assert (future.result().word, future.result().value) == ("correct", 4.0)
    assert not pool.submit(request([MATH, graded(1, reference=0.5)])).done()
    pool.close()


def test_options_of_a_reward_are_those_of_a_part_too(pool):
    config = RewardConfig(
        options={
            "weighted": {"level": 1, "require_box": True},
            "math": {"require_box": False, "last_number": True},
            "fake_graders.echo_fields": {"level": 7},
        }
    )
    level = {"reward": "fake_graders.echo_fields", "weight": 10, "reference": ""}

    def value(parts, **fields):
        ready = with_options(request(parts, response="it is 12", **fields), config)
        return pool.submit(ready).result(timeout=60).value

    assert value([MATH, level]) == 11.0
    assert value([MATH, level], level=6) == 1.0  # the row's own
    assert value([MATH, level], level=None, last_number=None) == 11.0  # null of a parquet file
    assert value([MATH, {**level, "fields": {"level": 7}}], level=6) == 11.0  # the part's own
    assert value([{**MATH, "fields": {"last_number": False}}, level]) == 10.0
    nested = {"parts": [MATH, level], "verdict": "math"}
    outer = {"reward": "weighted", "weight": 2, "reference": nested}
    assert value([MATH, outer]) == 1 + 2 * 11
    assert nested["parts"][1] == level  # what was given is left as it is


def test_a_row_is_checked_with_the_options_of_its_parts():
    config = RewardConfig(options={"code": {"fraction": "half"}})
    tests = [{"input": "1", "output": "1"}]
    code = {"reward": "code", "weight": 1, "reference": {"kind": "stdin", "tests": tests}}
    with pytest.raises(ValueError, match="part code: option fraction of the code reward must be"):
        check_request(request([code], verdict="code"), config)
    for faulty in ("12", {"parts": [3, {"reward": 4}, {"reward": "math", "fields": 3}]}, None):
        with pytest.raises(ValueError, match=r"the reference must be|a part must be"):
            check_request(ScoreRequest(reward="weighted", response="", reference=faulty), config)


def test_the_rewards_of_a_sum_are_known_and_so_is_its_time():
    inner = {"reward": "weighted", "weight": 3, "reference": {"parts": [MATH, graded(1)]}}
    code = {"reward": "code", "weight": 1}
    summed = request([MATH, inner, code, {"weight": 3}, "math"])
    names = ["math", "math", "fake_graders.fixed", "code"]
    assert reward_names("weighted", summed.reference) == names
    assert reward_names("math", "12") == ["math"]
    assert longest_s(summed, RewardConfig(timeout_s=2.0)) == 3 * 2 + 180
    with pytest.raises(ValueError, match=r"timeouts_s.weighted must not be set"):
        RewardConfig(timeouts_s={"weighted": 300.0})


def test_references_and_fields_fall_back_to_those_of_the_row(pool):
    level = {"reward": "fake_graders.echo_fields", "weight": 1, "fields": {"level": 7}}
    assert grade(pool, r"\boxed{12}", [MATH, level], level=6).value == 2.0
    assert grade(pool, r"\boxed{12}", [MATH, {**level, "fields": None}], level=6).value == 1.0
    asked = ScoreRequest(
        reward="weighted",
        response=r"\boxed{12}",
        reference={
            "reference": "12",
            "parts": [{"reward": "math", "weight": 1}],
            "verdict": "math",
        },
    )
    assert pool.submit(asked).result(timeout=60).correct


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("12", "the reference must be"),
        ({"parts": [], "verdict": "math"}, "the reference must be"),
        ({"parts": [MATH]}, "verdict must name the reward of one part, got None"),
        (
            {"parts": [MATH, MATH], "verdict": "math"},
            "one part, got 'math'; the parts are math, math",
        ),
        ({"parts": [MATH], "verdict": "rubric"}, "one part, got 'rubric'"),
        ({"parts": [{"reward": "math"}], "verdict": "math"}, "weight must be a number, got None"),
        ({"parts": [{**MATH, "weight": float("inf")}], "verdict": "math"}, "a number, got inf"),
        ({"parts": [{**MATH, "wieght": 1}], "verdict": "math"}, "unknown keys wieght"),
        ({"parts": ["math"], "verdict": "math"}, "a part must be a mapping, got str"),
        ({"parts": [{**MATH, "fields": 3}], "verdict": "math"}, "fields that are a mapping"),
        ({"parts": [{**MATH, "correct_from": "x"}], "verdict": "math"}, "correct_from must be"),
    ],
)
def test_parts_that_cannot_be_used_are_an_error_that_says_why(pool, reference, message):
    asked = ScoreRequest(reward="weighted", response=r"\boxed{12}", reference=reference)
    outcome = pool.submit(asked).result(timeout=60)
    assert (outcome.word, outcome.reason) == ("error", "bad_reference")
    assert message in outcome.detail["problem"]


def test_the_self_test_passes(pool):
    for response, reference, expected in SELF_TEST:
        asked = ScoreRequest(reward="weighted", response=response, reference=reference)
        assert pool.submit(asked).result(timeout=60).correct == expected


def test_a_part_that_could_not_grade_is_found_when_rows_are_loaded():
    code = {"reward": "code", "weight": 1, "reference": {"kind": "stdin", "tests": []}}
    with pytest.raises(ValueError, match="part code: tests is empty"):
        check_reference("weighted", {"parts": [code], "verdict": "code"}, {})
    rubric = {"reward": "rubric", "weight": 1, "reference": {"rubric": [{"id": "a"}]}}
    with pytest.raises(ValueError, match="part rubric: rubric item 1: text must be a string"):
        check_reference("weighted", {"parts": [rubric], "verdict": "rubric"}, {})
    unknown = {"parts": [{"reward": "maths", "weight": 1}], "verdict": "maths"}
    with pytest.raises(ValueError, match="did you mean math"):
        check_reference("weighted", unknown, {})
