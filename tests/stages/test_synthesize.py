"""`mgpo synthesize` against a real server that plays writer, judge and teacher by a script."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from command_runs import environment
from fake_judge import FakeJudge, Reply, completion, refusal

from mgpo.__main__ import main
from mgpo.config.data import RowsConfig
from mgpo.data.inputs import check_rewards
from mgpo.data.rows import load_rows, load_sft_rows
from rewards.config import RewardConfig

OUTPUTS = ("rows.jsonl", "prompts.jsonl", "dropped.jsonl", "report.json")
APPROVED = {"complete": True, "reasonable": True, "valid": True, "tests_the_point": True}


def play(body: dict[str, Any], number: int) -> Reply:
    """Write sums from the seed of the call, approve of all, and add rightly 3 times in 4."""
    text = body["messages"][-1]["content"]
    if text.startswith("You write problems"):
        return completion({"problem": f"What is {body['seed'] % 900 + 100} + 5?"})
    if text.startswith("You review problems"):
        return completion(APPROVED)
    total = int(re.findall(r"What is (\d+) \+ 5", text)[0]) + 5
    spelled = (f"{total}", rf"\frac{{{2 * total}}}{{2}}", f"{total}.0", f"{total + 1}")
    return completion(rf"So \boxed{{{spelled[body['seed'] % 4]}}}")


def slowly(body: dict[str, Any], number: int) -> Reply:
    """Play, after a moment."""
    time.sleep(0.1)
    return play(body, number)


def answering(**answers: Callable[[dict[str, Any], int], Reply]) -> Callable[..., Reply]:
    """Play, but for some parts (writer, judge, teacher) answer otherwise."""
    beginnings = {"writer": "You write problems", "judge": "You review problems"}

    def reply(body: dict[str, Any], number: int) -> Reply:
        text = body["messages"][-1]["content"]
        part = next((p for p, begin in beginnings.items() if text.startswith(begin)), "teacher")
        return answers.get(part, play)(body, number)

    return reply


def make_experiment(folder: Path, endpoint: str, **more: Any) -> Path:
    seeds = [
        {"id": f"s{i}", "prompt": f"What is {i}+{i}?", "reference": str(2 * i)} for i in (1, 2)
    ]
    (folder / "seeds.jsonl").write_text("".join(json.dumps(seed) + "\n" for seed in seeds))
    experiment = {
        "run": {"name": "s", "dir": str(folder / "runs")},
        "data": {"sources": [str(folder / "seeds.jsonl")]},
        "server": {
            "endpoint": endpoint,
            "model": "scripted",
            "max_concurrent_requests": 4,
            "max_retries": 0,
            "input_price": 1.0,
            "output_price": 10.0,
        },
        "reward": {"processes_per_worker": 1},
        "teaching": {"min_agreement": 0.25},
        **more,
    }
    (folder / "s.yaml").write_text(yaml.safe_dump(experiment))
    return folder / "s.yaml"


def outputs(folder: Path, name: str = "s") -> dict[str, bytes]:
    return {each: (folder / "runs" / name / each).read_bytes() for each in OUTPUTS}


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "runs/s" / name).read_text().splitlines()]


@pytest.mark.slow  # starts grading processes
def test_queries_are_written_judged_answered_and_labelled(tmp_path: Path) -> None:
    with FakeJudge(slowly) as server:
        experiment = make_experiment(tmp_path, server.endpoint)
        assert main(["synthesize", str(experiment)]) == 0
    report = json.loads((tmp_path / "runs/s/report.json").read_text())
    assert (report["seeds"], report["queries"], report["approved"]) == (2, 8, 8)
    # 8 queries: a call to write, one to judge, eight to teach, of 100 tokens in and 10 out.
    assert report["models"] == {
        "scripted": {
            "calls": 80,
            "prompt_tokens": 8000,
            "completion_tokens": 800,
            "cost": pytest.approx(0.016),
        }
    }
    assert len(server.bodies) == 80
    assert 2 <= server.most_at_once <= 4
    schemas = [body["response_format"]["json_schema"]["schema"] for body in server.bodies[:9]]
    assert set(schemas[0]["properties"]) == {"problem"}
    rows = read(tmp_path, "rows.jsonl")
    assert report["rows"] == len(rows) > 8
    for row in rows:
        total = sum(map(int, re.findall(r"\d+", row["prompt"])))
        assert eval(re.sub(r"\\frac\{(\d+)\}\{2\}", r"\1/2", row["reference"])) == total
        assert (
            row["synthesis"]["agreement"]
            == sum(other["prompt"] == row["prompt"] for other in rows) / 8
        )
    first = rows[0]["synthesis"]
    assert first["seed_ids"] == ["s1", "s2"]
    assert (first["axis"], first["writer"]) == ("concept_composition", "scripted")
    assert re.fullmatch("[0-9a-f]{64}", first["teacher_template_sha256"])
    # What comes out is what other stages read.
    folder = tmp_path / "runs/s"
    assert len(load_sft_rows(str(folder / "rows.jsonl"), RowsConfig())) == len(rows)
    check_rewards(load_rows(str(folder / "rows.jsonl"), RowsConfig()), RewardConfig())
    assert len(load_rows(str(folder / "prompts.jsonl"), RowsConfig())) == report["labelled"]


@pytest.mark.slow  # starts grading processes
def test_the_budget_stops_and_a_higher_one_goes_on_without_asking_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeJudge(play) as server:
        experiment = make_experiment(tmp_path, server.endpoint)
        assert main(["synthesize", str(experiment), "run.name=whole"]) == 0
        server.bodies.clear()
        assert main(["synthesize", str(experiment), "budget=0.0049"]) == 2
        assert "with a higher budget the same command continues" in capsys.readouterr().err
        num_paid = len(server.bodies)
        assert 25 <= num_paid <= 25 + 3  # 0.0002 each, four are under way at once
        assert not (tmp_path / "runs/s/rows.jsonl").exists()
        assert main(["synthesize", str(experiment), "budget=1"]) == 0
        assert len(server.bodies) == 80
        assert outputs(tmp_path) == outputs(tmp_path, "whole")
        assert main(["synthesize", str(experiment)]) == 0
        assert len(server.bodies) == 80


@pytest.mark.slow  # starts grading processes
def test_answers_that_are_not_what_was_asked_for_are_counted_never_invented(
    tmp_path: Path,
) -> None:
    def write(body: dict[str, Any], number: int) -> Reply:
        texts = {
            "compos": completion('Here it is: {"problem": "What is 100 + 5?"}'),
            "skelet": completion('<think>{}</think>```json\n{"problem": "What is 200 + 5?"}\n```'),
            "changing its": completion({"problem": "What is 300 + 5?"}, finish_reason="length"),
            "asks f": completion({"problem": "what is  1+1?"}),
        }
        return next(v for k, v in texts.items() if k in body["messages"][-1]["content"])

    with FakeJudge(answering(writer=write)) as server:
        experiment = make_experiment(tmp_path, server.endpoint)
        assert main(["synthesize", str(experiment)]) == 0
    reasons = {drop["id"]: drop["reason"] for drop in read(tmp_path, "dropped.jsonl")}
    assert reasons == {
        **{f"s{i}-concept_composition-0": "writer_unreadable" for i in (1, 2)},
        **{f"s{i}-constraints-0": "writer_truncated" for i in (1, 2)},
        **{f"s{i}-objective-0": "repeated" for i in (1, 2)},
        "s2-solution_skeleton-0": "repeated",
    }
    assert {row["prompt"] for row in read(tmp_path, "rows.jsonl")} == {"What is 200 + 5?"}


def test_the_judge_must_approve_in_every_criterion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [
        {**APPROVED, "valid": False},
        {**APPROVED, "complete": "yes"},
        {"complete": True},
        "looks good",
    ]
    axes = ["objective", "constraints"]

    def judge(body: dict[str, Any], number: int) -> Reply:
        return completion(answers[number - 4])

    with FakeJudge(answering(judge=judge)) as server:
        experiment = make_experiment(
            tmp_path,
            server.endpoint,
            expansion={"axes": axes},
            judging={"server": {"endpoint": server.endpoint, "model": "judge"}},
        )
        assert main(["synthesize", str(experiment)]) == 2
    assert "no query got a label: judge_unreadable 3, judged_bad 1" in capsys.readouterr().err
    (bad,) = [d for d in read(tmp_path, "dropped.jsonl") if d["reason"] == "judged_bad"]
    assert bad["detail"]["not"] == ["valid"]
    assert {body["model"] for body in server.bodies} == {"scripted", "judge"}


@pytest.mark.slow  # starts grading processes
def test_votes_without_a_clear_majority_give_no_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {
        "s1-objective-0": [r"\boxed{1}", r"\boxed{2}", r"\boxed{1.0}", r"\boxed{2}"],  # a tie
        "s1-constraints-0": [r"\boxed{1}", "none", r"\boxed{1}", r"\boxed{3}"],  # a half
        "s2-objective-0": ["none", "I do not know", "", "..."],
        "s2-constraints-0": [r"\boxed{4}", r"\boxed{4}", r"\boxed{\frac{8}{2}}", r"\boxed{5}"],
    }
    problems: dict[str, list[str]] = {}

    def teach(body: dict[str, Any], number: int) -> Reply:
        told = problems.setdefault(body["messages"][-1]["content"], [])
        told.append("")
        return completion(list(answers.values())[len(problems) - 1][len(told) - 1])

    with FakeJudge(answering(teacher=teach)) as server:
        experiment = make_experiment(
            tmp_path,
            server.endpoint,
            expansion={"axes": ["objective", "constraints"]},
            teaching={"samples_per_prompt": 4, "min_agreement": 0.6},
        )
        assert main(["synthesize", str(experiment), "server.max_concurrent_requests=1"]) == 0
    reasons = {drop["id"]: drop["reason"] for drop in read(tmp_path, "dropped.jsonl")}
    assert reasons == {
        "s1-objective-0": "tie",
        "s1-constraints-0": "low_agreement",
        "s2-objective-0": "no_answer",
    }
    assert [(row["id"], row["reference"]) for row in read(tmp_path, "rows.jsonl")] == [
        (f"s2-constraints-0-{number}", "4") for number in range(3)
    ]
    assert read(tmp_path, "prompts.jsonl")[0]["synthesis"]["agreement"] == 0.75


@pytest.mark.slow  # starts grading processes
def test_a_server_that_fails_ends_the_run_and_what_it_said_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_late(body: dict[str, Any], number: int) -> Reply:
        return play(body, number) if number < 20 else refusal(400, "no more today")

    with FakeJudge(fail_late) as server:
        experiment = make_experiment(tmp_path, server.endpoint)
        assert main(["synthesize", str(experiment)]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert "3 calls in a row failed" in error
        assert "no more today" in error
    with FakeJudge(play) as server:
        assert main(["synthesize", str(experiment), f"server.endpoint={server.endpoint}"]) == 0
        assert len(server.bodies) == 60


@pytest.mark.slow  # starts grading processes
def test_a_template_of_the_users_asks_anew_and_must_have_its_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "judge.txt").write_text("You review problems. {problem} {braces}")
    with FakeJudge(play) as server:
        experiment = make_experiment(tmp_path, server.endpoint, templates_dir=str(templates))
        assert main(["synthesize", str(experiment)]) == 0
        asked = [body["messages"][-1]["content"] for body in server.bodies]
        mine = [text for text in asked if text.startswith("You review problems. What is")]
        assert len(mine) == 8
        assert mine[0].endswith("+ 5? {braces}")
        before = len(server.bodies)
        (templates / "judge.txt").write_text("You review problems! {problem}")
        assert main(["synthesize", str(experiment)]) == 0
        assert len(server.bodies) == before + 8
    (templates / "teacher.txt").write_text("Solve it.")
    assert main(["synthesize", str(experiment)]) == 2
    assert "teacher.txt: must have the places {problem}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"server": {}}, "expansion has no model: set server.endpoint and server.model"),
        ({"expansion": {"axes": ["objectives"]}}, "expansion.axes must name some of concept_com"),
        ({"teaching": {"samples_per_prompt": 1}}, "teaching.samples_per_prompt must be at least 2"),
        ({"judging": {"votes": 3}}, "unknown key judging.votes"),
        ({"budget": -1}, "budget must be at least 0"),
        ({"templates_dir": "nowhere"}, "templates_dir nowhere: no such folder"),
        ({"data": {"sources": ["code.jsonl"]}}, "field reward: 'code', but new queries are label"),
        ({"data": {"sources": ["bare.jsonl"]}}, "bare.jsonl, line 1, field reference: missing"),
        ({"data": {"sources": ["one.jsonl"]}}, "concept_composition needs at least two seeds"),
    ],
)
def test_wrong_input_is_one_clear_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tests = {"kind": "stdin", "tests": [{"input": "1", "output": "1"}]}
    code = {"prompt": "print it", "domain": "code", "reference": tests}
    Path("code.jsonl").write_text(json.dumps(code))
    Path("bare.jsonl").write_text('{"prompt": "a"}')
    Path("one.jsonl").write_text('{"prompt": "a", "reference": "1"}')
    experiment = make_experiment(tmp_path, "http://127.0.0.1:9/v1", **more)
    assert main(["synthesize", str(experiment)]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_a_run_killed_in_the_middle_ends_with_the_same_bytes(tmp_path: Path) -> None:
    with FakeJudge(slowly) as server:
        experiment = make_experiment(tmp_path, server.endpoint)
        assert main(["synthesize", str(experiment), "run.name=whole"]) == 0
        command = [sys.executable, "-m", "mgpo", "synthesize", str(experiment)]
        process = subprocess.Popen(command, env=environment(), cwd=tmp_path)
        calls = tmp_path / "runs/s/samples/calls.jsonl"
        deadline = time.monotonic() + 120
        while not (calls.is_file() and calls.read_bytes().count(b"\n") >= 30):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        num_kept = calls.read_bytes().count(b"\n")
        assert 30 <= num_kept < 80
        before = len(server.bodies)
        assert main(["synthesize", str(experiment), "run.resume=must"]) == 0
        assert len(server.bodies) - before == 80 - num_kept
    assert outputs(tmp_path) == outputs(tmp_path, "whole")


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_an_engine_of_our_own_is_asked_like_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fakes.make_model(tmp_path / "model", seed=2, head_dim=8)
    experiment = make_experiment(
        tmp_path,
        "",
        server={},
        model=str(tmp_path / "model"),
        dtype="float32",
        rollout={"engine": "hf", "max_batch_samples": 4},
        expansion={"axes": ["objective"], "max_completion_tokens": 8, "max_failed_share": 1.0},
        templates_dir=str(tmp_path / "templates"),
    )
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/objective.txt").write_text("{problem}")
    # A random model writes no JSON: every query is dropped, and said to be.
    assert main(["synthesize", str(experiment)]) == 2
    assert "no query got a label: writer_" in capsys.readouterr().err
    report = json.loads((tmp_path / "runs/s/report.json").read_text())
    spent = report["models"][str(tmp_path / "model")]
    assert (spent["calls"], spent["cost"]) == (2, 0)
    assert 2 <= spent["completion_tokens"] <= 16
