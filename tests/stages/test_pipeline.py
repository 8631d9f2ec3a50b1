"""What is done is skipped, what was cut goes on, what changed is not silently used."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from command_runs import environment
from pipeline_folders import PROGRAM, make_pipeline, write_script

from mgpo.config.errors import ConfigError, StageFailed, UserError
from mgpo.stages import pipeline

pytestmark = pytest.mark.slow  # a process per step


@pytest.fixture
def folder(tmp_path):
    return make_pipeline(tmp_path / "pipeline")


def run(folder, **options):
    return pipeline.run(folder, [], **{"last": "rows", **options})


def record(folder, name):
    return json.loads((folder / "runs" / "pipeline" / f"{name}.json").read_text())


def test_steps_run_once_and_are_recorded(folder):
    table = run(folder)
    assert (folder / "rows.jsonl").read_text() == "0abrows"
    assert [line.split()[0] for line in table.splitlines()] == ["01_a", "02_b", "03_rows"]
    made = record(folder, "02_b")
    assert made["parents"] == {"inputs[0]": "01_a"}
    assert made["finished_at"] is not None
    assert len(made["inputs"]["inputs[0]"]["a.txt"]) == 64
    (folder / "a.txt").touch()
    before = (folder / "rows.jsonl").stat().st_mtime_ns
    assert run(folder).count("(before)") == 3
    assert (folder / "rows.jsonl").stat().st_mtime_ns == before


def test_a_changed_step_is_refused_until_it_is_redone_with_what_follows(folder):
    run(folder)
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "B")
    with pytest.raises(
        ConfigError, match=r"02_b.yaml: changed since it was run: command: .*--redo"
    ):
        run(folder)
    assert (folder / "rows.jsonl").read_text() == "0abrows"
    table = run(folder, redo="b")
    assert [("(before)" in line) for line in table.splitlines()] == [True, False, False]
    assert (folder / "rows.jsonl").read_text() == "0aBrows"
    assert (folder / "rows.jsonl.old-1").read_text() == "0abrows"


def test_a_changed_input_is_refused(folder):
    run(folder)
    (folder / "start.txt").write_text("1")
    with pytest.raises(ConfigError, match=r"content of inputs\[0\] \(start.txt\)"):
        run(folder)


def test_a_failed_step_stops_the_pipeline_and_may_be_mended(folder):
    write_script(
        folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b", "raise SystemExit(3)"
    )
    with pytest.raises(StageFailed, match="02_b ended with code 2"):
        run(folder)
    assert record(folder, "02_b")["finished_at"] is None
    assert not (folder / "rows.jsonl").exists()
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b")
    assert run(folder).count("(before)") == 1
    assert (folder / "rows.jsonl").read_text() == "0abrows"


def test_a_step_that_makes_nothing_has_failed(folder):
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b", "pass")
    with pytest.raises(StageFailed):
        run(folder)


def test_from_and_until_bound_what_runs(folder):
    run(folder, last="a")
    assert not (folder / "b.txt").exists()
    assert len(run(folder, first="2").splitlines()) == 2
    with pytest.raises(ConfigError, match="comes after"):
        run(folder, first="3", last="2")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_pipeline_ends_what_it_started_and_the_next_launch_goes_on(folder, number):
    pid_file = folder / "pid"
    slow = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b", slow)
    command = [sys.executable, "-m", "mgpo", "pipeline", str(folder), "--until", "rows"]
    process = subprocess.Popen(command, env=environment())
    wait_for(lambda: pid_file.is_file() and pid_file.read_text())
    program = int(pid_file.read_text())
    process.send_signal(number)
    code = process.wait(timeout=30)
    assert code == (130 if number == signal.SIGTERM else -signal.SIGKILL)
    wait_for(lambda: not os.path.exists(f"/proc/{program}"))
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b", PROGRAM)
    assert run(folder).count("(before)") == 1


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_redo_that_was_cut_goes_on_and_ends_at_the_pipelines_end(folder):
    run(folder)
    broken = folder / "03_rows.yaml"
    kept = broken.read_text()
    write_script(broken, folder / "b.txt", folder / "rows.jsonl", "rows", "raise SystemExit(3)")
    with pytest.raises(StageFailed):
        run(folder, redo="b", first="2")
    broken.write_text(kept)
    assert [("(before)" in line) for line in run(folder, redo="b").splitlines()] == [
        True,
        True,
        False,
    ]
    assert not (folder / "b.txt.old-2").exists()


def test_a_redo_outside_the_chosen_steps_is_refused(folder):
    run(folder)
    with pytest.raises(ConfigError, match="is not among the steps"):
        run(folder, redo="a", first="2")


def test_what_is_gone_is_made_again(folder):
    run(folder)
    (folder / "rows.jsonl").unlink()
    assert run(folder).count("(before)") == 2
    assert (folder / "rows.jsonl").read_text() == "0abrows"


def test_any_bytes_and_much_output_of_a_program_are_survived(folder):
    loud = (
        "import sys; sys.stdout.buffer.write(b'\\xff\\n' + b'line\\n' * 50000); "
        "sys.stdout.flush(); " + PROGRAM
    )
    write_script(folder / "02_b.yaml", folder / "a.txt", folder / "b.txt", "b", loud)
    run(folder)
    assert len(record(folder, "02_b")["summary"].splitlines()) == 200


def test_a_damaged_record_is_named(folder):
    run(folder)
    (folder / "runs" / "pipeline" / "02_b.json").write_text("{}")
    with pytest.raises(UserError, match=r"02_b.json: not a record"):
        run(folder)
