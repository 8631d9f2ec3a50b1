"""Whether a Ray cluster answers at RAY_ADDRESS: Ray itself tries for minutes, then aborts."""

import os
import socket
from pathlib import Path

from mgpo.config.errors import UserError

VARIABLE = "RAY_ADDRESS"
_LOCAL = ("", "local")
_PATIENCE_S = 10.0
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""Start of an HTTP/2 connection, on which gRPC runs, with empty settings (RFC 9113, 3.4 and 6.5)"""
_HEADER_BYTES = 9
_SETTINGS = 4


def cluster_address() -> str | None:
    """Return what RAY_ADDRESS says, None where it asks for no cluster, after the cluster has
    answered. Raises UserError, in bounded time, if none does."""
    address = os.environ.get(VARIABLE, "")
    if address in _LOCAL:
        return None
    target = _latest_cluster() if address == "auto" else address.removeprefix("ray://")
    if target and "://" not in target:  # another scheme is that of a plugin of Ray's
        _check_answers(address, *_host_and_port(address, target))
    return address


def _latest_cluster() -> str:
    """Return the address that `ray start` left on this host, which `auto` stands for; without one
    Ray looks for its processes, and fails at once."""
    file = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _host_and_port(address: str, target: str) -> tuple[str, int]:
    host, _, port = target.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UserError(
            f"{VARIABLE} must be HOST:PORT (of the head node, port 6379 as a rule), auto, local or "
            f"ray://HOST:PORT, got {address!r}"
        )
    return host.strip("[]"), int(port)


def _check_answers(address: str, host: str, port: int) -> None:
    where = f"{VARIABLE}={address}" + (f" ({host}:{port})" if address == "auto" else "")
    hint = f"start the cluster, correct {VARIABLE}, or unset it for a Ray of mgpo's own"
    is_tls = os.environ.get("RAY_USE_TLS", "0") not in ("", "0")
    try:
        with socket.create_connection((host, port), timeout=_PATIENCE_S) as connection:
            is_grpc = is_tls or _greets_as_grpc(connection)  # Ray checks certificates itself
    except OSError as error:
        raise UserError(f"no Ray cluster answers at {where}: {error}; {hint}") from error
    if not is_grpc:
        raise UserError(f"what listens at {where} is no Ray cluster's port; {hint}")


def _greets_as_grpc(connection: socket.socket) -> bool:
    """Greet as a client does, and read the header of the first frame, which must be settings."""
    connection.sendall(_HELLO)
    answer = b""
    while len(answer) < _HEADER_BYTES and (part := connection.recv(_HEADER_BYTES)):
        answer += part
    return len(answer) >= _HEADER_BYTES and answer[3] == _SETTINGS
