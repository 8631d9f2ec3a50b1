"""The tasks of the tiny pipeline: every worked answer is right, and no prompt comes twice."""

import importlib
import json
import random
import sys
from itertools import islice, pairwise
from pathlib import Path

import pytest

from mgpo.pipeline.steps import load_steps, maker_of
from rewards.registry import resolve, to_outcome

ROOT = Path(__file__).parents[2]
TINY_DIR = ROOT / "experiments" / "tiny"
REWARDS = {"math": "math", "code": "code", "stem": "stem", "instruct": "constraints"}


@pytest.fixture(scope="module")
def tiny():
    sys.path.insert(0, str(TINY_DIR))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(TINY_DIR))


@pytest.mark.parametrize("domain", REWARDS)
def test_every_worked_answer_is_right_and_another_tasks_answer_is_not(tiny, domain):
    draws = tiny("prepare_domains")._draws()[domain]
    tasks = list(islice(tiny("tasks").distinct(draws, random.Random(0)), 24))
    grader = resolve(REWARDS[domain])

    def is_right(response, reference):
        return to_outcome(grader(response, reference), 1.0).correct

    for task in tasks:
        lengths = [len(trace) for trace in task.traces]
        assert lengths == sorted(lengths)
        for trace in task.traces:
            assert is_right(trace, task.reference), (task.prompt, trace)
    wrong = [is_right(b.traces[0], a.reference) for a, b in pairwise(tasks)]
    assert sum(wrong) < len(wrong) / 3  # a letter or a short list may fit by chance


def test_a_kind_that_is_used_up_gives_way_to_the_others(tiny):
    tasks = tiny("tasks")
    few = [
        tasks.Task(prompt=str(n), domain="d", kind="k", difficulty=1, reference=n, traces=())
        for n in range(3)
    ]
    drawn = list(tasks.distinct([lambda rng: rng.choice(few)], random.Random(0)))
    assert sorted(task.prompt for task in drawn) == ["0", "1", "2"]


def test_the_files_are_a_pure_function_of_the_seed_and_share_no_prompt(tiny, tmp_path, monkeypatch):
    def prepare(name, seed):
        arguments = ["--output", str(tmp_path / name), "--shrink", "20", "--seed", seed]
        monkeypatch.setattr(sys, "argv", ["prepare_domains.py", *arguments])
        tiny("prepare_domains").main()
        files = sorted((tmp_path / name).rglob("*.jsonl"))
        return {path.name: path.read_text() for path in files}

    first, again, other = prepare("a", "0"), prepare("b", "0"), prepare("c", "1")
    assert first == again
    assert first != other
    assert len(first) == 13
    prompts = [
        {json.loads(line)["prompt"] for line in text.splitlines()} for text in first.values()
    ]
    assert sum(map(len, prompts)) == len(set.union(*prompts))


def test_the_steps_follow_from_each_other(monkeypatch):
    monkeypatch.chdir(ROOT)
    steps = load_steps(Path("experiments/tiny"), [])
    assert [step.name.partition("_")[0] for step in steps] == [f"{n:02d}" for n in range(29)]
    for index, step in enumerate(steps[1:], start=1):
        for key, source in step.inputs.items():
            is_ours = source.startswith("experiments/")  # a program, or what a benchmark is
            assert is_ours or maker_of(source, steps[:index]), (step.name, key, source)
