"""Messages of known length over a stream socket, between processes of ours."""

import socket
import struct

_LENGTH = struct.Struct("=Q")


def send(channel: socket.socket, message: bytes) -> None:
    """Send one message. Raises OSError when the other side is gone."""
    channel.sendall(_LENGTH.pack(len(message)) + message)


def receive(channel: socket.socket) -> bytes | None:
    """Read one message; None when the other side is gone."""
    header = _read(channel, _LENGTH.size)
    return header and _read(channel, _LENGTH.unpack(header)[0])


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
