"""`ray job submit` of the working directory onto a Ray that has all packages but mgpo."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from command_runs import make_experiment, stable_metrics

from mgpo.rollout.reaper import reap
from mgpo.tracking.code_version import hash_sources

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
STEPS = 40
JOB_STOP_WAIT = '{"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "600"}}'
EXIT_CODE_SCRIPT = 'trap : TERM\npython -m mgpo "$@"\necho "exit code $?"\n'
"""Ray does not tell the exit code of a job that was stopped."""


class Launch(NamedTuple):
    """A cluster, the checkout that is submitted to it, and where runs go."""

    checkout: Path
    runs: Path
    session: Path
    variables: dict[str, str]

    def run(self, *command: str, timeout: float = 600) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.checkout,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )

    def submit(
        self, *command: str, options: Sequence[str] = ()
    ) -> "subprocess.CompletedProcess[str]":
        return self.run("ray", "job", "submit", "--working-dir=.", *options, "--", *command)

    def arguments(self, name: str, *overrides: str) -> list[str]:
        inputs = ["model.path=inputs/model", "data.train=inputs/train.jsonl"]
        inputs += ["data.eval=inputs/eval.jsonl", "rollout.engine=hf"]
        return ["rl", "inputs/rl.yaml", f"run.name={name}", f"run.dir={self.runs}", *inputs,
                *overrides]  # fmt: skip


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    folder = tmp_path_factory.mktemp("ray_job")
    python = make_environment(folder / "env")
    checkout = make_checkout(folder / "checkout")
    (folder / "env" / "bin" / ".installed").touch()  # for make
    port = free_port()
    variables = {
        **os.environ,
        "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
        "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{port}",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "MGPO_ENGINE_MARK": secrets.token_hex(8),  # of all processes of the cluster
    }
    for name in ("PYTHONPATH", "RAY_ADDRESS", "VIRTUAL_ENV"):
        variables.pop(name, None)
    with ExitStack() as stack:
        # Not under pytest's folder: a socket's path has 107 characters at most.
        temp_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ray_")))
        stack.callback(reap, variables["MGPO_ENGINE_MARK"])
        start_cluster(temp_dir, port, variables, folder / "cluster.log")
        session = (temp_dir / "session_latest").resolve()
        yield Launch(checkout, folder / "runs", session, variables)


def make_environment(path: Path) -> Path:
    """Make a Python with the packages of this one, but without what is installed as editable."""
    venv.create(path, symlinks=True, with_pip=False)
    python = path / "bin" / "python"
    own = Path(sysconfig.get_path("purelib", vars={"base": str(path)}))
    # Paths in a .pth file are searched, the .pth files in them are not read.
    (own / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    ray = path / "bin" / "ray"
    ray.write_text(f"#!{python}\nfrom ray.scripts.scripts import main\nmain()\n")
    ray.chmod(0o755)
    found = subprocess.run([python, "-P", "-c", "import mgpo"], cwd=path, capture_output=True)
    assert found.returncode == 1, "mgpo must come with the working directory only"
    return python


def make_checkout(path: Path) -> Path:
    """Copy what a job needs, with an experiment and a run's folder beside, into a repository."""
    for name in ("mgpo", "rewards", "sandbox"):
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "setup.py", "constraints.txt", ".gitignore", "tests/fake_rewards.py"):
        shutil.copy(ROOT / name, path)
    (path / "inputs").mkdir()
    make_experiment(path / "inputs", STEPS)
    (path / "exit_code.sh").write_text(EXIT_CODE_SCRIPT)
    (path / "runs").mkdir()
    (path / "runs" / "large").write_bytes(bytes(2**20))
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", str(path)]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    return path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def start_cluster(temp_dir: Path, port: int, variables: dict[str, str], log: Path) -> None:
    """Start Ray with ports of its own, and wait until its job server answers."""
    names = ("port", "dashboard-agent-listen-port", "ray-client-server-port")
    ports = [f"--{name}={free_port()}" for name in names]
    ports += ["--min-worker-port=0", "--max-worker-port=0", f"--dashboard-port={port}"]
    command = ["ray", "start", "--head", "--block", "--num-cpus=4", f"--temp-dir={temp_dir}"]
    command += ["--disable-usage-stats", *ports]
    with log.open("w") as file:
        cluster = subprocess.Popen(
            command, env=variables, cwd=temp_dir, stdout=file, stderr=subprocess.STDOUT
        )
    end = time.monotonic() + 180
    while subprocess.run(["ray", "job", "list"], env=variables, capture_output=True).returncode:
        assert cluster.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(1)


def wait_for(text: str, path: Path, timeout_s: float = 300) -> None:
    end = time.monotonic() + timeout_s
    while not (path.is_file() and text in path.read_text()):
        assert time.monotonic() < end, f"no {text!r} in {path}"
        time.sleep(0.1)


def newest_launch(run: Path) -> dict:
    return json.loads((run / "provenance.json").read_text())["launches"][-1]


@pytest.fixture(scope="module")
def undisturbed(launch: Launch) -> str:
    """Run a job to its end; return what `ray job submit` showed."""
    environment = launch.checkout.parent / "env"
    arguments = " ".join(launch.arguments("undisturbed"))
    done = launch.run("make", "submit", f"VENV={environment}", f"ARGS={arguments}")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_driver_and_actors_run_the_uploaded_code(launch: Launch, undisturbed: str) -> None:
    code = newest_launch(launch.runs / "undisturbed")["code"]
    head = launch.run("git", "rev-parse", "HEAD").stdout.strip()
    packages = ("mgpo", "rewards", "sandbox")
    sha256 = hash_sources([launch.checkout / package for package in packages])
    uploaded = launch.session / "runtime_resources" / "working_dir_files"
    assert Path(code["path"]).is_relative_to(uploaded)
    assert code == {"path": code["path"], "commit": head, "is_dirty": False, "sha256": sha256}
    version = f"mgpo at {code['path']}, commit {head}, sha256 {sha256[:16]}"
    for who in ("driver", "learner ranks", "rollout engines"):
        assert f"{who}: {version}" in undisturbed
    assert not (Path(code["path"]).parent / "runs").exists()


def test_job_log_has_a_line_per_step_and_nothing_from_actors(undisturbed: str) -> None:
    log = undisturbed[undisturbed.index("Running entrypoint") :]
    steps = re.findall(rf"mgpo.tracking.console: step (\d+)/{STEPS}  ", log)
    assert steps == [str(step) for step in range(STEPS + 1)]
    assert "held-out accuracy, %" in log
    for noise in ("pid=", "it/s", "Traceback"):
        assert noise not in log
    assert len(log.splitlines()) < 3 * STEPS


def test_run_folder_inside_the_uploaded_copy_is_refused(launch: Launch) -> None:
    arguments = launch.arguments("lost", "run.dir=runs")
    done = launch.submit("sh", "exit_code.sh", *arguments)
    assert "exit code 2" in done.stdout
    error = next(line for line in done.stdout.splitlines() if line.startswith("error: "))
    assert error.startswith(f"error: run.dir: {launch.session}/runtime_resources/")
    assert "set run.dir=/absolute/path on storage that all hosts share" in error
    assert not list(launch.session.glob("runtime_resources/working_dir_files/*/runs"))


def test_stopped_job_saves_its_state_and_continues(launch: Launch, undisturbed: str) -> None:
    run = launch.runs / "stopped"
    arguments = launch.arguments("stopped", "tracking.wandb=offline")
    options = ["--no-wait", "--submission-id=stopped", f"--runtime-env-json={JOB_STOP_WAIT}"]
    done = launch.submit("sh", "exit_code.sh", *arguments, options=options)
    assert done.returncode == 0, done.stdout
    wait_for("W&B run ", run / "run.log")  # its process is there and will be signalled too
    wait_for("step 1/", run / "run.log")
    launch.run("ray", "job", "stop", "stopped")
    log = launch.run("ray", "job", "logs", "stopped").stdout
    assert "Job 'stopped' was stopped" in launch.run("ray", "job", "status", "stopped").stdout, log
    assert "exit code 130" in log
    assert "Traceback" not in log
    written = [record["step"] for record in stable_metrics(run)]
    assert 0 < written[-1] < STEPS, "stopped too late to show anything"
    newest = max((run / "checkpoints").glob("step_*")).name
    assert newest == f"step_{written[-1]:06d}"

    done = launch.submit("python", "-m", "mgpo", *launch.arguments("stopped", "run.resume=must"))
    assert done.returncode == 0, done.stdout
    assert f"resumed from {run}/checkpoints/{newest}" in done.stdout
    assert stable_metrics(run) == stable_metrics(launch.runs / "undisturbed")
    weights = [
        launch.runs / name / "final/model.safetensors" for name in ("stopped", "undisturbed")
    ]
    assert weights[0].read_bytes() == weights[1].read_bytes()
