"""What becomes of RAY_ADDRESS before Ray sees it."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import ray

from mgpo import ray_address
from mgpo.config.errors import UserError
from mgpo.ray_address import cluster_address

ROOT = Path(__file__).parents[1]


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def listener():
    """Start what accepts connections and answers each with the given bytes."""
    servers = []

    def start(answer):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve():
            kept = []
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                connection.sendall(answer)
                kept.append(connection)

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1]

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@pytest.mark.parametrize("value", [None, "", "local"])
def test_without_an_address_ray_is_local(monkeypatch, value):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if value is not None:
        monkeypatch.setenv("RAY_ADDRESS", value)
    assert cluster_address() is None


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}", "localhost:{}"])
def test_an_address_where_nothing_listens_is_one_line(monkeypatch, free_port, form):
    address = form.format(free_port)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError) as caught:
        cluster_address()
    assert str(caught.value).startswith(f"no Ray cluster answers at RAY_ADDRESS={address}: ")


def test_a_listener_that_stays_silent_is_given_up_in_time(monkeypatch, listener):
    monkeypatch.setattr(ray_address, "_PATIENCE_S", 0.3)
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{listener(b'')}")
    started = time.monotonic()
    with pytest.raises(UserError, match=r"no Ray cluster answers .*timed out"):
        cluster_address()
    assert time.monotonic() - started < 5


def test_another_kind_of_server_is_no_cluster(monkeypatch, listener):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{listener(b'HTTP/1.1 400 Bad Request')}")
    with pytest.raises(UserError, match="no Ray cluster's port"):
        cluster_address()
    monkeypatch.setenv("RAY_USE_TLS", "1")
    assert cluster_address().startswith("127.0.0.1:")


@pytest.mark.parametrize("address", ["head-node", "head-node:", ":6379", "head:port", "head:70000"])
def test_what_is_no_address_says_what_is_allowed(monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=r"must be HOST:PORT.*auto, local or ray://HOST:PORT, got"):
        cluster_address()


def test_auto_is_the_address_that_ray_start_left_here(monkeypatch, free_port, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert cluster_address() == "auto"  # Ray says at once that there is none
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port}")
    with pytest.raises(UserError, match=rf"RAY_ADDRESS=auto \(127.0.0.1:{free_port}\): "):
        cluster_address()


def test_the_command_ends_with_exit_code_2(monkeypatch, free_port):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port}")
    code = (
        "import sys; from mgpo import __main__ as m; from mgpo.cluster import start_cluster\n"
        "m._check = lambda args: start_cluster('cpu').__enter__()\n"
        "sys.exit(m.main(['check', 'x.yaml']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: no Ray cluster answers at RAY_ADDRESS=127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_a_cluster_answers(monkeypatch):
    address = ray.get_runtime_context().gcs_address
    for form in (address, f"ray://{address}"):
        monkeypatch.setenv("RAY_ADDRESS", form)
        assert cluster_address() == form
