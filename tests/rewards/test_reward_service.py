"""The service on a real Ray cluster: answers in order, alarms, survives its workers."""

import logging
import os
import random
import signal
import threading
import time

import pytest
import ray

from rewards.config import RewardConfig
from rewards.types import ScoreRequest

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def make_service():
    from rewards.service import RewardService

    services = []

    def make(**settings):
        service = RewardService(RewardConfig(**settings))
        services.append(service)
        return service

    yield make
    for service in services:
        service.close()


def ask(reward, responses):
    return [
        ScoreRequest(reward=f"fake_graders.{reward}", response=r, reference="") for r in responses
    ]


def test_outcomes_come_in_the_order_of_the_requests(make_service):
    values = [str(i / 8) for i in range(50)]
    outcomes = make_service(num_workers=2).score(ask("graded", values))
    assert [outcome.value for outcome in outcomes] == [float(value) for value in values]


def test_math_is_graded_inside_an_actor_and_passes_its_self_test(make_service):
    service = make_service()
    service.self_test(["math", "fake_graders.slow"])
    requests = [
        ScoreRequest(reward="math", response=rf"\boxed{{{i}}}", reference="3") for i in range(6)
    ]
    assert [o.correct for o in service.score(requests)] == [i == 3 for i in range(6)]
    metrics = service.metrics()
    assert metrics["reward/error_rate"] == 0.0
    assert metrics["time/reward_p99_s"] > 0.0


def test_a_reward_that_fails_its_own_items_stops_the_start(make_service):
    from rewards.self_test import SelfTestFailed

    with pytest.raises(SelfTestFailed, match=r"'wrong'.*expected wrong, got correct"):
        make_service().self_test(["fake_graders.liar"])


def test_too_many_errors_stop_the_run_with_their_reasons(make_service):
    from rewards.record import RewardErrorRate

    service = make_service(error_window=40, max_error_rate=0.5)
    service.score(ask("graded", ["1"] * 10 + ["nan"] * 10))
    with pytest.raises(RewardErrorRate, match=r"not_finite x11.*"):
        service.score(ask("graded", ["nan"]))


def test_a_few_errors_are_counted_and_do_not_stop(make_service):
    service = make_service(error_window=40, max_error_rate=0.5)
    outcomes = service.score(ask("graded", ["1"] * 15 + ["nan"] * 5))
    assert sum(not outcome.is_valid for outcome in outcomes) == 5
    assert service.metrics()["reward/error_rate"] == 0.25
    assert service.metrics()["reward/error_rate"] == 0.0


def test_what_is_scored_aside_is_not_in_the_record(make_service):
    service = make_service(error_window=4, max_error_rate=0.01)
    outcomes = service.score_aside(ask("graded", ["nan"] * 8 + ["1"]))
    assert [outcome.is_valid for outcome in outcomes] == [False] * 8 + [True]
    assert service.metrics()["time/reward_p99_s"] == 0.0
    service.score(ask("graded", ["1"]))


def test_a_killed_worker_costs_no_request(make_service):
    service = make_service(num_workers=2, processes_per_worker=1)
    requests = ask("slow", ["0.1"] * 64)
    service.score(ask("slow", ["0"] * 32))
    (pids,) = {tuple(service.worker_pids())}
    threading.Timer(1.0, os.kill, (pids[0], signal.SIGKILL)).start()
    outcomes = service.score(requests)
    assert [outcome.word for outcome in outcomes] == ["correct"] * 64
    assert service.metrics()["reward/workers_replaced"] == 1
    assert pids[0] not in service.worker_pids()


def test_nothing_to_score_is_nothing(make_service):
    assert make_service().score([]) == []


def test_late_gradings_are_counted_with_the_processes_they_cost(make_service):
    service = make_service(timeout_s=0.3, error_window=100)
    outcomes = service.score(ask("slow", ["60", "0", "60"]))
    assert [outcome.reason for outcome in outcomes] == ["timeout", "", "timeout"]
    metrics = service.metrics()
    assert metrics["reward/timeouts"] == 2
    assert metrics["reward/processes_replaced"] == 2
    assert service.metrics()["reward/processes_replaced"] == 0


def test_alarm_and_log_name_the_item(make_service, caplog):
    from rewards.record import RewardErrorRate

    service = make_service(error_window=4)
    request = ScoreRequest(
        reward="fake_graders.raising", response="q7", reference="", item_id="row-12"
    )
    with pytest.raises(RewardErrorRate, match=r"row-12.*fake_graders\.raising.*no entry for q7"):
        service.score([request])
    with caplog.at_level(logging.DEBUG, logger="rewards.record"):
        service.metrics()
    assert "slowest of 1 gradings: row-12" in caplog.text


def test_a_missed_service_deadline_is_an_error_and_a_new_worker_goes_on(make_service, monkeypatch):
    service = make_service(error_window=100)
    service.score(ask("slow", ["0"]))
    monkeypatch.setattr(service, "_deadline_s", lambda part: 1.0)
    (late,) = service.score(ask("slow", ["9"]))
    assert (late.word, late.reason) == ("error", "service_timeout")
    monkeypatch.undo()
    assert service.score(ask("slow", ["0"]))[0].correct


def test_self_test_items_do_not_dilute_the_error_rate(make_service):
    from rewards.record import RewardErrorRate

    service = make_service(error_window=4, max_error_rate=0.5)
    service.self_test(["math"])
    assert service.metrics()["time/reward_p99_s"] == 0.0
    with pytest.raises(RewardErrorRate, match="100% of the last 1 gradings"):
        service.score(ask("graded", ["nan"]))


def test_an_audit_finds_a_grader_that_went_bad_during_the_run(make_service):
    from rewards.self_test import SelfTestFailed

    service = make_service(processes_per_worker=1, audit_every=8)
    service.self_test(["fake_graders.spoilt"])
    service.score(ask("spoilt", ["x"] * 7))
    with pytest.raises(SelfTestFailed, match=r"'wrong'.*expected wrong, got correct"):
        service.score(ask("spoilt", ["x"]))


def test_options_of_a_run_do_not_change_what_is_known(make_service):
    service = make_service(options={"math": {"require_box": True}})
    service.self_test(["math"])
    request = ScoreRequest(reward="math", response="The answer is 12.", reference="12")
    assert not service.score([request])[0].correct


def test_the_depth_of_the_queue_is_told(make_service):
    service = make_service()
    tickets = [service.submit(ask("slow", ["0"] * 10)) for _ in range(3)]
    for ticket in tickets:
        service.collect(ticket)
    assert service.metrics()["reward/queue_depth_max"] == 30
    assert service.metrics()["reward/queue_depth_max"] == 0


def test_options_of_a_reward_are_fields_of_its_rows(make_service):
    service = make_service(options={"fake_graders.echo_fields": {"level": 7}})
    assert [o.correct for o in service.score(ask("echo_fields", ["x"]))] == [True]


def test_closing_leaves_no_grading_process(make_service):
    service = make_service()
    pids = {int(outcome.value) for outcome in service.score(ask("pid", ["x"] * 8))}
    service.close()
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.1)


NUM_UNDER_FIRE = int(os.environ.get("MGPO_KILL_REQUESTS", "2000"))


@pytest.mark.slow
def test_every_request_is_answered_once_while_workers_are_killed_at_random(make_service):
    service = make_service(num_workers=3, timeout_s=1.0, max_error_rate=1.0)
    service.self_test(["math"])
    chosen = random.Random(0)
    odd = {1: "slow", 2: "raising", 3: "graded"}
    requests = [
        ScoreRequest(
            reward=f"fake_graders.{odd[n % 500]}" if n % 500 in odd else "math",
            response={1: "60", 3: "nan"}.get(n % 500, rf"\boxed{{{n}}}"),
            reference=str(n - n % 2),
            item_id=str(n),
        )
        for n in range(NUM_UNDER_FIRE)
    ]
    outcomes = []
    num_killed = 0
    for first in range(0, NUM_UNDER_FIRE, 200):
        try:
            living = service.worker_pids()
        except ray.exceptions.RayActorError:  # the last one killed; this batch finds it out
            living = []
        ticket = service.submit(requests[first : first + 200])
        if living:
            time.sleep(chosen.uniform(0.0, 0.5))
            os.kill(chosen.choice(living), signal.SIGKILL)
            num_killed += 1
        outcomes += service.collect(ticket)
    assert len(outcomes) == NUM_UNDER_FIRE
    failed = [request for request, o in zip(requests, outcomes, strict=True) if not o.is_valid]
    assert {request.reward for request in failed} == {
        f"fake_graders.{name}" for name in odd.values()
    }
    assert len(failed) == 3 * NUM_UNDER_FIRE // 500
    for request, outcome in zip(requests, outcomes, strict=True):
        if request.reward == "math":
            assert outcome.correct == (int(request.item_id) % 2 == 0)
    assert num_killed >= NUM_UNDER_FIRE // 400
    assert service.metrics()["reward/workers_replaced"] >= num_killed - 1
