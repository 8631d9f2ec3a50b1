"""What driver and actors compare before they work together."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import mgpo
from mgpo.tracking.code_version import code_version, hash_sources, refuse_other_code

ROOT = Path(mgpo.__file__).parents[1]

DRIVER = """
import sys
import ray
from fake_engines import Script
from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.pool import RolloutPool

path = {"env_vars": {"PYTHONPATH": sys.argv[1]}}
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, runtime_env=path)
config = RolloutConfig(num_workers=1)
engine = "fake_engines:ScriptedEngine"
pool = RolloutPool(config, engine, Script("."), num_threads=1, options=[{"num_cpus": 0}])
pool.wait_until_loaded()
"""


def copy_sources(folder: Path) -> Path:
    for name in ("mgpo", "rewards", "sandbox"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_digest_follows_names_and_contents_of_the_sources_only(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("x = 1\n")
    # printf '%s  package/a.py\n' $(printf 'x = 1\n' | sha256sum | cut -c-64) | sha256sum
    first = "034020ea39c4860cb15ffedd014c167d05257fa694ee19f607259b242697bb47"
    assert hash_sources([package]) == first
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"0")
    assert hash_sources([package]) == first
    (package / "a.py").write_text("x = 2\n")
    second = hash_sources([package])
    (package / "a.py").rename(package / "b.py")
    assert len({first, second, hash_sources([package])}) == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [("0123abc", "0123abc"), ("0123abc-dirty", "0123abc-dirty"), ("", "unknown")],
)
def test_without_a_repository_the_environment_names_the_commit(
    tmp_path: Path, value: str, shown: str
) -> None:
    folder = copy_sources(tmp_path)
    code = "from mgpo.tracking.code_version import code_version; print(code_version())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "MGPO_GIT_COMMIT": value},
        capture_output=True,
        text=True,
    )
    digest = code_version().sha256[:16]
    assert done.stdout == f"mgpo at {folder}/mgpo, commit {shown}, sha256 {digest}\n", done.stderr


@pytest.mark.ray
@pytest.mark.slow
def test_engines_that_import_other_sources_are_refused(tmp_path: Path) -> None:
    other = copy_sources(tmp_path / "other")
    with (other / "mgpo" / "types.py").open("a") as file:
        file.write("# one line more\n")
    tests = str(ROOT / "tests")
    # Not in this process: its actors find the code where pytest does.
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, os.pathsep.join([str(other), tests])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), tests])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    message = done.stderr.splitlines()[-1]
    assert "UserError: rollout engines would run other code than the driver" in message
    assert f"mgpo at {other}/mgpo, commit unknown" in message
    assert f"the driver has {code_version()}" in message


def test_same_sources_elsewhere_are_accepted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    elsewhere = replace(code_version(), path="/elsewhere/mgpo")
    refuse_other_code("learner ranks", [elsewhere, elsewhere])
    assert caplog.messages == [f"learner ranks: {elsewhere}"]
