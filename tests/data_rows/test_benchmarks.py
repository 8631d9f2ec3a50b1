"""Benchmarks as declared, and every layout of their data; all rows here are made up."""

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from mgpo.config.benchmark import SamplingChanges
from mgpo.config.errors import ConfigError, DataError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.run import RunConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.data.benchmark import (
    built_in_names,
    load_benchmarks,
    load_problems,
    problems_digest,
)
from mgpo.data.inputs import check_rewards
from mgpo.data.rows import Row
from rewards import code_tests
from rewards.config import RewardConfig


def make_config(benchmarks: list[str], **settings: Any) -> EvaluateConfig:
    return EvaluateConfig(run=RunConfig(name="x"), model="m", benchmarks=benchmarks, **settings)


def read(tmp_path: Path, name: str, *rows: dict[str, Any], **changes: Any) -> list[Row]:
    """Read rows as a built-in benchmark reads its source, and let their reward check them."""
    source = tmp_path / "source.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    changes = {name: {"sources": [str(source)], **changes}}
    [benchmark] = load_benchmarks(make_config([name], changes=changes))
    problems = load_problems(benchmark, None)
    check_rewards(problems, RewardConfig())
    return problems


def test_every_built_in_benchmark_is_sound() -> None:
    names = built_in_names()
    assert {"aime25", "gpqa_diamond", "ifbench", "livecodebench_v6_all"} <= set(names)
    for benchmark in load_benchmarks(make_config(names)):
        sampling = benchmark.config.sampling
        assert (sampling.temperature, sampling.top_p, sampling.top_k) == (1.0, 0.95, -1)
        assert sampling.max_completion_tokens is None
        assert "{prompt}" in benchmark.template


def test_the_reports_counts_of_samples() -> None:
    counts = {
        benchmark.name: benchmark.config.sampling.samples_per_prompt
        for benchmark in load_benchmarks(make_config(built_in_names()))
    }
    assert [counts[name] for name in ("aime24", "aime25", "aime26", "hmmt25", "brumo25")] == [
        64
    ] * 5
    assert counts["imo_answerbench"] == counts["gpqa_diamond"] == 16
    assert counts["livecodebench_v6_new"] == counts["ojbench"] == 8
    assert counts["leetcode_contests"] == 4


def test_changes_of_a_run_come_over_those_of_all_and_over_the_file() -> None:
    config = make_config(
        ["aime25", "aime24"],
        sampling=SamplingChanges(samples_per_prompt=2, top_p=1.0),
        changes={"aime24": {"sampling": {"samples_per_prompt": 8}, "pass_at": [1, 8]}},
    )
    by_name = {each.name: each.config for each in load_benchmarks(config)}
    assert by_name["aime25"].sampling == SamplingConfig(samples_per_prompt=2, top_p=1.0)
    assert by_name["aime24"].sampling.samples_per_prompt == 8
    assert by_name["aime24"].ks == [1, 8]
    assert by_name["aime25"].ks == [1, 2]


def test_a_benchmark_of_ones_own_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "prompt": "1+1", "reference": "2"}\n')
    (tmp_path / "ask.txt").write_text("Work out {prompt}.\n")
    path = tmp_path / "sums.yaml"
    path.write_text(f"title: Sums\nsources: [{tmp_path}/rows.jsonl]\ntemplate: ask.txt\n")
    [benchmark] = load_benchmarks(make_config([str(path)]))
    [row] = load_problems(benchmark, None)
    assert (row.messages[0]["content"], row.reward, row.reference) == ("Work out 1+1.", "math", "2")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"benchmarks": ["aime52"]}, "unknown benchmark 'aime52'; known are aime24"),
        ({"benchmarks": ["aime25", "aime25"]}, "aime25 is named twice"),
        (
            {"benchmarks": ["aime25"], "changes": {"aime24": {}}},
            "changes.aime24: benchmarks names only aime25",
        ),
        (
            {"benchmarks": ["aime25"], "changes": {"aime25": {"tempalte": "x"}}},
            "unknown key tempalte; did you mean template",
        ),
        (
            {"benchmarks": ["aime25"], "changes": {"aime25": {"pass_at": [65]}}},
            "pass_at must be from 1 to sampling.samples_per_prompt=64, got 65",
        ),
        (
            {"benchmarks": ["aime25"], "changes": {"aime25": {"template": "none.txt"}}},
            "template none.txt: no such file",
        ),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_benchmarks(make_config(**settings))


def test_a_benchmark_without_a_source_says_what_to_set() -> None:
    [benchmark] = load_benchmarks(make_config(["ojbench"]))
    with pytest.raises(DataError, match=r"set changes\.ojbench\.sources"):
        load_problems(benchmark, None)


def test_lists_of_answers_are_one_answer(tmp_path: Path) -> None:
    row = {"question": "Solve x^2 = 1.", "final_answer": ["$1$", "-1"]}
    [problem] = read(tmp_path, "olympiadbench", row)
    assert problem.reference == "1, -1"


def test_gsm8k_takes_what_follows_the_marker(tmp_path: Path) -> None:
    [problem] = read(tmp_path, "gsm8k", {"question": "1+1?", "answer": "1+1=2\n#### 2"})
    assert problem.reference == "2"
    assert problem.messages[0]["content"].startswith("1+1?\n\nPlease reason")


def test_instructions_lose_the_nulls_of_the_hubs_copy(tmp_path: Path) -> None:
    row = {
        "key": 7,
        "prompt": "Write.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [
            {"num_words": None, "relation": None},
            {"num_words": 3, "relation": "at least"},
        ],
    }
    [problem] = read(tmp_path, "ifeval", row)
    assert [each["kwargs"] for each in problem.reference["constraints"]] == [
        {},
        {"num_words": 3, "relation": "at least"},
    ]
    assert problem.fields["compat"] == "ifeval"
    assert problem.messages[0]["content"] == "Write."


def test_options_are_shuffled_by_the_records_id_alone(tmp_path: Path) -> None:
    rows = [
        {
            "Record ID": f"rec{number}",
            "Question": "Which?",
            "Correct Answer": "right",
            **{f"Incorrect Answer {n}": f"wrong {n}" for n in (1, 2, 3)},
        }
        for number in range(40)
    ]
    problems = read(tmp_path, "gpqa_diamond", *rows)
    assert problems == read(tmp_path, "gpqa_diamond", *rows)
    for problem in problems:
        assert problem.reference["options"][problem.reference["answer"]] == "right"
    letters = [problem.reference["answer"] for problem in problems]
    assert set(letters) == set("ABCD")
    assert "(A) " in problems[0].messages[0]["content"]


def grade(problem: Row, program: str) -> bool:
    response = f"```python\n{program}\n```"
    outcome = code_tests.grade(response, problem.reference, **problem.fields)
    assert outcome.is_valid, outcome
    return outcome.correct


HUMANEVAL = {
    "task_id": "HumanEval/x",
    "prompt": 'def helper(x):\n    return -x\n\n\ndef twice(x):\n    """Double."""\n',
    "entry_point": "twice",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert helper(1) == -1\n",
}


def test_programs_are_tested_with_the_helpers_of_their_prompt(tmp_path: Path) -> None:
    [problem] = read(tmp_path, "humaneval", HUMANEVAL)
    assert problem.reference["setup"] == "def helper(x):\n    return -x\n\n\n"
    assert grade(problem, "def twice(x):\n    return 2 * x")
    assert not grade(problem, "def twice(x):\n    return x + 3")


def test_mbpp_is_its_test_split(tmp_path: Path) -> None:
    rows = [
        {
            "task_id": number,
            "text": "Double it.",
            "test_list": ["assert twice(2) == 4"],
            "test_setup_code": "",
        }
        for number in (10, 11, 510, 511)
    ]
    problems = read(tmp_path, "mbpp", *rows)
    assert [problem.id for problem in problems] == ["mbpp-11", "mbpp-510"]
    assert "assert twice(2) == 4" in problems[0].messages[0]["content"]
    assert grade(problems[0], "def twice(x): return 2 * x")


def test_mbpp_plus_compares_with_the_reference_program(tmp_path: Path) -> None:
    row = {
        "task_id": "Mbpp/x",
        "prompt": '"""\nWrite a function to halve.\nassert half(2) == 1\n"""\n',
        "entry_point": "half",
        "canonical_solution": "def half(x):\n    return x / 2\n",
        "base_input": "[[2]]",
        "plus_input": [[3], ["no number"]],
    }
    [problem] = read(tmp_path, "mbpp_plus", row)
    assert grade(problem, "def half(x): return x * 0.5 if x != 'no number' else x / 2")
    assert not grade(problem, "def half(x): return x // 2")


LCB = {
    "question_content": "Add.",
    "question_id": "abc1",
    "contest_date": "2025-03-01T00:00:00",
    "starter_code": "",
    "metadata": "{}",
    "public_test_cases": json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]),
}


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def test_livecodebench_has_public_and_private_tests(tmp_path: Path) -> None:
    private = json.dumps([{"input": "2 2\n", "output": "4\n", "testtype": "stdin"}])
    for text in (private, packed(private)):
        [problem] = read(tmp_path, "livecodebench_v6_new", {**LCB, "private_test_cases": text})
        assert problem.reference["tests"] == [
            {"input": "1 2\n", "output": "3\n"},
            {"input": "2 2\n", "output": "4\n"},
        ]
    assert grade(problem, "print(sum(map(int, input().split())))")


def test_livecodebench_calls_methods_with_json_arguments(tmp_path: Path) -> None:
    row = {
        **LCB,
        "starter_code": "class Solution:\n    def add(self, a, b):\n        ",
        "metadata": '{"func_name": "add"}',
        "public_test_cases": json.dumps([{"input": "1\n[2, 3]", "output": "6"}]),
        "private_test_cases": "[]",
    }
    [problem] = read(tmp_path, "livecodebench_v6_all", row)
    assert grade(
        problem,
        "class Solution:\n    def add(self, a, b):\n        return a + sum(b)",
    )


def test_a_pickle_that_names_anything_is_refused(tmp_path: Path) -> None:
    row = {**LCB, "private_test_cases": packed(print)}
    with pytest.raises(DataError, match=r"line 1: not of format livecodebench: .*builtins\.print"):
        read(tmp_path, "livecodebench_v6_new", row)


def test_windows_of_dates(tmp_path: Path) -> None:
    rows = [
        {**LCB, "question_id": day, "contest_date": f"{day}T12:00:00", "private_test_cases": "[]"}
        for day in ("2025-01-31", "2025-02-01", "2025-04-30", "2025-05-01")
    ]
    window = {"from_date": "2025-02-01", "before_date": "2025-05-01"}
    problems = read(tmp_path, "livecodebench_v6_all", *rows, **window)
    assert [problem.id for problem in problems] == ["2025-02-01", "2025-04-30"]


def test_leetcode_rows_keep_their_contest(tmp_path: Path) -> None:
    row = {
        "task_id": "twice",
        "problem_description": "Double it.",
        "starter_code": "class Solution:\n    def twice(self, x: int) -> int:\n        ",
        "prompt": "from typing import *\n",
        "entry_point": "Solution().twice",
        "test": "def check(candidate):\n    assert candidate(x = 2) == 4\n",
        "contest": "weekly 400",
    }
    [problem] = read(tmp_path, "leetcode_contests", row)
    assert problem.fields["contest"] == "weekly 400"
    assert grade(
        problem, "class Solution:\n    def twice(self, x: int) -> int:\n        return 2 * x"
    )


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    row = {key: value for key, value in HUMANEVAL.items() if key != "test"}
    with pytest.raises(DataError, match=r"line 1: no column 'test', which format humaneval needs"):
        read(tmp_path, "humaneval", row)


def test_the_digest_tells_problems_apart(tmp_path: Path) -> None:
    row = {"id": 1, "problem": "1+1", "answer": "2"}
    one = problems_digest(read(tmp_path, "aime25", row))
    assert one == problems_digest(read(tmp_path, "aime25", row))
    assert one != problems_digest(read(tmp_path, "aime25", {**row, "answer": "3"}))
    assert one != problems_digest(read(tmp_path, "aime25", row, template="plain.txt"))


def test_a_judge_is_asked_where_the_rule_of_math_grades(tmp_path: Path) -> None:
    row = {"id": 1, "problem": "1+1", "answer": "2"}
    source = tmp_path / "source.jsonl"
    source.write_text(
        json.dumps(row) + "\n" + json.dumps({**row, "id": 2, "reward": "stem"}) + "\n"
    )
    changes = {"aime25": {"sources": [str(source)]}}
    config = make_config(["aime25", "ifeval"], changes=changes, math_judge=True)
    [benchmark, _] = load_benchmarks(config)
    assert [row.reward for row in load_problems(benchmark, None)] == ["math_judge", "stem"]
