"""JSON messages over a stream socket, between processes of ours that trust each other."""

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("=Q")


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one message. Raises OSError when the other side is gone."""
    data = json.dumps(message).encode()
    channel.sendall(_LENGTH.pack(len(data)) + data)


def receive(channel: socket.socket) -> dict[str, Any] | None:
    """Read one message; None when the other side is gone."""
    header = _read(channel, _LENGTH.size)
    data = header and _read(channel, _LENGTH.unpack(header)[0])
    return json.loads(data) if data else None


def _read(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        try:
            chunk = channel.recv(min(length - len(parts), 2**20))
        except ConnectionError:
            return None
        if not chunk:
            return None
        parts += chunk
    return bytes(parts)
