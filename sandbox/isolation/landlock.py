"""Landlock: which files a process can reach, whatever its uid. Linux 5.13 and later."""

import ctypes
import os
import struct
from collections.abc import Iterable

from sandbox.isolation import linux

_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
# Rights of files that each version of the interface added.
_FILE_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: 1 << 15}
_NET_RIGHTS = 0b11  # bind and connect of TCP, from 4 on
_SCOPES = 0b11  # abstract unix sockets and signals, from 6 on

SIGNALS_SCOPED_SINCE = 6


def abi_version() -> int:
    """Version of the kernel's interface, 0 without Landlock."""
    try:
        return linux.syscall("landlock_create_ruleset", 0, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def make_ruleset(
    readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], abi: int
) -> int:
    """Build a ruleset and return its descriptor.

    `readable` directories can be read and programs in them executed, `writable` ones also written
    to, `devices` are single files to read and write. What does not exist is left out. Raises
    OSError.
    """
    handled = sum(rights for since, rights in _FILE_RIGHTS_BY_ABI.items() if since <= abi)
    fields = [handled]
    if abi >= 4:
        fields.append(_NET_RIGHTS)
    if abi >= SIGNALS_SCOPED_SINCE:
        fields.append(_SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = linux.syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    for path in readable:
        _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
    for path in writable:
        _allow(ruleset, path, handled & ~_EXECUTE)
    for path in devices:
        _allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _TRUNCATE) & handled)
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor))
        linux.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def restrict_self(ruleset: int) -> None:
    """Put the calling thread under the ruleset, for good. Needs no_new_privs. Raises OSError."""
    linux.syscall("landlock_restrict_self", ruleset, 0)
