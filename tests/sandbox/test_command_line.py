"""`python -m sandbox`, which may be killed and go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sandbox_tiers import processes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def _command(*arguments):
    return [sys.executable, "-m", "sandbox", *map(str, arguments)]


def _run(*arguments, **options):
    return subprocess.run(
        _command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=120, **options
    )


def _rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    code = "import time; time.sleep(0.05); print(input())"
    with path.open("w") as file:
        for n in range(100):
            tests = [{"input": str(n), "output": str(n) if n % 3 else "x"}]
            file.write(json.dumps({"id": f"case {n}", "code": code, "tests": tests}) + "\n")
    return path


def test_a_killed_run_leaves_no_process_and_goes_on_without_loss_or_doubles(cases, tmp_path):
    before = set(processes("from sandbox import"))
    output = tmp_path / "verdicts.jsonl"
    first = subprocess.Popen(_command("judge", "--input", cases, "--output", output), cwd=ROOT)
    while not (output.exists() and len(output.read_bytes().splitlines()) > 10):
        assert first.poll() is None
        time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    deadline = time.monotonic() + 10
    while set(processes("from sandbox import")) - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert set(processes("from sandbox import")) - before == set()
    with output.open("a") as file:
        file.write('{"id": "case')  # as a kill in the middle of a row leaves it
    resumed = _run("judge", "--input", cases, "--output", output, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "100 programs" in resumed.stdout
    assert "AC 66 WA 34" in resumed.stdout
    assert [row["id"] for row in _rows(output)] == [f"case {n}" for n in range(100)]


def test_verdicts_on_other_programs_are_not_gone_on_with(cases, tmp_path):
    output = tmp_path / "verdicts.jsonl"
    output.write_text('{"id": "other", "verdict": "AC"}\n')
    done = _run("judge", "--input", cases, "--output", output, "--resume")
    assert done.returncode == 2
    assert "has verdicts on other programs" in done.stderr


def test_a_bad_row_is_named_by_its_line(tmp_path):
    (tmp_path / "cases.jsonl").write_text('{"code": "", "tests": [{"input": 3}]}\n')
    done = _run("judge", "--input", tmp_path / "cases.jsonl", "--output", tmp_path / "out.jsonl")
    assert done.returncode == 2
    assert "cases.jsonl:1: test 0: input of kind stdin is a text, got 3" in done.stderr


def test_one_program_is_run_and_the_layers_are_shown(tmp_path):
    (tmp_path / "main.py").write_text("print(int(input()) * 2)")
    done = _run("run", tmp_path / "main.py", input="21\n")
    assert done.stdout == "42\n"
    assert "ran to its end" in done.stderr
    doctor = _run("doctor")
    assert doctor.returncode == 0
    assert "tier" in doctor.stdout
