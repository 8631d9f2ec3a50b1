"""Opening a run directory: first, again, with other settings, twice at once."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_runs import make_run_config, with_resume

import mgpo
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.load import load_config
from mgpo.tracking.code_version import code_version
from mgpo.tracking.run_dir import RunDir, RunPaths

_HOLD_THE_LOCK = """
import pathlib, sys, time
from mgpo.tracking.lock import RunLock
lock = RunLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def _add_checkpoint(folder: Path) -> None:
    (folder / "run" / "checkpoints" / "step_000005").mkdir(parents=True)


@contextmanager
def _lock_held_elsewhere(path: Path) -> Iterator["subprocess.Popen[str]"]:
    root = str(Path(mgpo.__file__).parents[1])
    command = [sys.executable, "-c", _HOLD_THE_LOCK, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder
        finally:
            holder.kill()


def test_stored_configuration_loads_as_the_one_it_was_made_from(tmp_path: Path) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    assert load_config(RunPaths(config.run.path).config_path, [], "rl") == config


def test_lock_held_by_another_process_is_refused_naming_it_and_free_after_its_death(
    tmp_path: Path,
) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    with _lock_held_elsewhere(RunPaths(config.run.path).lock_path) as holder:
        with pytest.raises(UserError, match=f"in use by pid {holder.pid} on .*run.name"):
            RunDir.open(config)
        holder.kill()
        holder.wait()
        RunDir.open(config).close()


def test_never_refuses_a_folder_that_holds_a_run(tmp_path: Path) -> None:
    config = with_resume(make_run_config(tmp_path), "never")
    RunDir.open(config).close()
    with pytest.raises(ConfigError, match=r"choose another run.name, or run.resume=auto"):
        RunDir.open(config)


def test_must_refuses_a_folder_without_a_checkpoint_and_makes_none(tmp_path: Path) -> None:
    config = with_resume(make_run_config(tmp_path), "must")
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        RunDir.open(config)
    assert not config.run.path.exists()
    _add_checkpoint(tmp_path)
    RunDir.open(config).close()


def test_change_that_breaks_the_continuation_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    _add_checkpoint(tmp_path)
    before = {path: path.read_bytes() for path in config.run.path.glob("*.*") if path.is_file()}
    other = replace(
        make_run_config(tmp_path, seed=1), rollout=replace(config.rollout, group_size=8)
    )
    with pytest.raises(ConfigError, match=r"rollout.group_size: 16 -> 8, run.seed: 0 -> 1"):
        RunDir.open(other)
    assert before == {path: path.read_bytes() for path in before}
    RunDir.open(config).close()  # the refusal let go of the lock


@pytest.mark.parametrize("weights", [{}, {"math": 1.0, "code": 1.0}, {"math": 2.0, "stem": 1.0}])
def test_other_weights_of_domains_break_the_continuation(
    tmp_path: Path, weights: dict[str, float]
) -> None:
    config = make_run_config(tmp_path)
    data = replace(config.data, domain_weights={"math": 2.0, "code": 1.0})
    RunDir.open(replace(config, data=data)).close()
    _add_checkpoint(tmp_path)
    other = replace(config, data=replace(data, domain_weights=weights))
    with pytest.raises(ConfigError, match=r"cannot be continued with data\.domain_weights"):
        RunDir.open(other)


def test_folder_that_ray_deletes_with_a_job_is_refused_and_not_made(tmp_path: Path) -> None:
    copy = tmp_path / "session_2026-01-31_12-00-00_000000_1" / "runtime_resources" / "files"
    copy.mkdir(parents=True)
    config = make_run_config(tmp_path)
    inside = replace(config, run=replace(config.run, dir=str(copy)))
    with pytest.raises(ConfigError, match=r"set run.dir=/absolute/path on storage that all hosts"):
        RunDir.open(inside)
    assert not list(copy.iterdir())


def test_without_a_checkpoint_there_is_no_continuation_to_break(tmp_path: Path) -> None:
    RunDir.open(make_run_config(tmp_path)).close()
    config = make_run_config(tmp_path, seed=1)
    RunDir.open(config).close()
    assert "seed: 1" in (config.run.path / "config.yaml").read_text()


def test_harmless_change_is_logged_and_the_earlier_configuration_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    _add_checkpoint(tmp_path)
    first = (config.run.path / "config.yaml").read_bytes()
    RunDir.open(replace(config, steps=20)).close()
    assert "configuration changed: steps: 10 -> 20" in caplog.text
    assert (config.run.path / "config.1.yaml").read_bytes() == first
    RunDir.open(with_resume(replace(config, steps=20), "must")).close()
    assert not (config.run.path / "config.2.yaml").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("train.jsonl", r"data.train .*train.jsonl changed"),
        ("model/tokenizer.json", r"model.path .*tokenizer.json changed"),
    ],
)
def test_other_bytes_under_the_same_path_break_the_continuation(
    tmp_path: Path, name: str, message: str
) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    _add_checkpoint(tmp_path)
    (tmp_path / name).write_text('{"other": 1}\n')
    with pytest.raises(ConfigError, match=message):
        RunDir.open(config)


def test_provenance_records_each_launch(tmp_path: Path) -> None:
    config = make_run_config(tmp_path)
    RunDir.open(config).close()
    RunDir.open(config).close()
    launches = json.loads((config.run.path / "provenance.json").read_text())["launches"]
    assert len(launches) == 2
    launch = launches[1]
    # sha256sum of the row that make_run_config writes
    assert launch["inputs"]["data.train"]["sha256"] == {
        "train.jsonl": "87bbc3696d5b1d9b7227c754ed0babf6d3fd290ac082e88adbe1049e25715afa"
    }
    assert launch["code"]["path"] == str(Path(mgpo.__file__).parent)
    assert launch["code"]["sha256"] == code_version().sha256
    assert launch["versions"]["torch"].startswith("2.")
    assert launch["parent_runs"] == {"model.path": None}


def test_provenance_names_the_run_that_trained_the_model(tmp_path: Path) -> None:
    parent = make_run_config(tmp_path)
    RunDir.open(parent).close()
    final = parent.run.path / "final"
    final.mkdir()
    child = replace(
        parent, run=replace(parent.run, name="child"), model=replace(parent.model, path=str(final))
    )
    RunDir.open(child).close()
    launches = json.loads((child.run.path / "provenance.json").read_text())["launches"]
    assert launches[0]["parent_runs"] == {"model.path": str(parent.run.path)}


def test_provenance_names_the_merge_that_made_the_model(tmp_path: Path) -> None:
    merged = tmp_path / "merged"
    merged.mkdir()
    (merged / "provenance.json").write_text("{}")
    config = make_run_config(tmp_path)
    config = replace(config, model=replace(config.model, path=str(merged)))
    RunDir.open(config).close()
    launches = json.loads((config.run.path / "provenance.json").read_text())["launches"]
    assert launches[0]["parent_runs"] == {"model.path": str(merged)}


def test_run_log_has_our_lines_while_the_run_is_open(tmp_path: Path) -> None:
    config = make_run_config(tmp_path)
    run_dir = RunDir.open(config)
    logging.getLogger("mgpo.learner").info("a line of the learner")
    logging.getLogger("urllib3").warning("a line of somebody else")
    run_dir.close()
    logging.getLogger("mgpo.learner").warning("a line after the run")
    text = run_dir.log_path.read_text()
    assert "INFO mgpo.learner: a line of the learner" in text
    assert "somebody else" not in text
    assert "after the run" not in text
