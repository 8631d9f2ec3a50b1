"""A real vLLM server for a random tiny model, which it can hold to a JSON schema."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import fakes

from mgpo.rollout.vllm_engine import vllm_environment

CONTEXT = 4096
MODEL = "random"
_START_S = 400


@contextlib.contextmanager
def serve_random_model(path: Path) -> Iterator[str]:
    """Make the model in a folder, serve it on a free port, and yield the base URL."""
    fakes.make_model(path, seed=1, head_dim=32)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "max_position_embeddings": CONTEXT}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # `vllm serve` looks for a package named vllm, which the build for CPUs is not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(path)]
    options = ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port)]
    limits = ["--dtype", "float32", "--max-model-len", str(CONTEXT), "--enforce-eager"]
    # Left to itself, a random model writes blanks without end, which JSON allows.
    structure = {"backend": "xgrammar", "disable_any_whitespace": True}
    form = ["--structured-outputs-config", json.dumps(structure)]
    with (path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options, *limits, *form],
            env={**os.environ, **vllm_environment("cpu"), "VLLM_CPU_KVCACHE_SPACE": "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_it_answers(server, port, path / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_until_it_answers(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        assert server.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, f"no answer in {_START_S} s: {log.read_text()[-3000:]}"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
            return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(1)
