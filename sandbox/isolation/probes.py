"""Witnesses: small programs that try what a layer must refuse. A layer counts when they fail.

They run as any program does, through the whole path, and print `refused` or what they reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

LayerName = Literal[
    "ordinary user",
    "namespaces",
    "landlock",
    "limits",
    "system calls",
    "private files",
    "no writing",
]

_TRY = """
import os, sys
reached = []
def attempt(name, action):
    try:
        action()
    except (OSError, ValueError, MemoryError, RuntimeError):
        return
    reached.append(name)
"""
_TELL = """
print(*(reached or ["refused"]))
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """One program and the layer that it witnesses."""

    layer: LayerName
    text: str

    @property
    def program(self) -> str:
        """The program to run."""
        return _TRY + self.text + _TELL


PROBES = (
    Probe(
        "ordinary user",
        """
if 0 in os.getresuid() + os.getresgid() or os.getgroups() not in ([], [65534], [os.getgid()]):
    reached.append("root")
attempt("setuid", lambda: os.setresuid(0, 0, 0))
import ctypes
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
ctypes.CDLL(None).capget(header, sets)
if any(sets):
    reached.append("capabilities")
if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1:
    reached.append("new privileges")
""",
    ),
    Probe(
        "landlock",
        """
attempt("listing /", lambda: os.listdir("/"))
attempt("listing /proc", lambda: os.listdir("/proc"))
attempt("reading /etc/passwd", lambda: open("/etc/passwd").read(1))
attempt("reading its zygote", lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(1))
""",
    ),
    Probe(
        "no writing",
        """
for place in ("/", "/usr/lib", "/var/tmp", "/dev", "/dev/shm", "/proc/self"):
    path = os.path.join(place, "mgpo_probe")
    if os.path.realpath(place) != os.getcwd():
        attempt("writing in " + place, lambda: open(path, "w"))
        attempt("a directory in " + place, lambda: os.mkdir(path))
        attempt("the mode of " + place, lambda: os.chmod(place, 0o777))
        attempt("the times of " + place, lambda: os.utime(place))
""",
    ),
    Probe(
        "private files",
        """
open("own", "w").write("x")
attempt("a hole", lambda: os.mknod("device", 0o60600, os.makedev(7, 0)))
attempt("a large file", lambda: open("large", "wb").write(b"x" * (64 << 20)))
for name in ("/etc/passwd", "/sys/kernel", "/var/log", "/run"):
    if os.path.lexists(name):
        reached.append(name)
""",
    ),
    Probe(
        "limits",
        """
attempt("memory", lambda: bytearray(4 << 30))
attempt("files", lambda: [os.dup(0) for _ in range(200)])
import resource
attempt("raising a limit", lambda: resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6)))
import threading
threading.stack_size(32768)
gate = threading.Event()
def many():
    for _ in range(4500):
        threading.Thread(target=gate.wait, daemon=True).start()
attempt("threads", many)
gate.set()
""",
    ),
    Probe(
        "system calls",
        """
import _socket, ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    if getattr(libc, name)(*words) < 0:
        raise OSError
attempt("a socket", lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM))
attempt("a process", os.fork)
attempt("a program", lambda: os.execv(sys.executable, ["python"]))
attempt("a memory file", lambda: os.memfd_create("x"))
attempt("ptrace", lambda: call("ptrace", 16, os.getppid(), 0, 0))
attempt("unshare", lambda: call("unshare", 0x10000000))
attempt("a mount", lambda: call("mount", b"none", b"/", b"tmpfs", 0, None))
attempt("signals", lambda: os.kill(os.getppid(), 0))
attempt("its group", lambda: os.kill(0, 0))
import fcntl
attempt("signals of a descriptor", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid()))
attempt("outliving its parent", lambda: call("prctl", 1, 0, 0, 0, 0))
attempt("datagrams", lambda: _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_DGRAM))
attempt("io_uring", lambda: call("syscall", 425, 1, (ctypes.c_uint64 * 15)()))
attempt("bpf", lambda: call("syscall", {"x86_64": 321}.get(os.uname().machine, 280), 0, 0, 0))
""",
    ),
)

FIXES: Mapping[LayerName, str] = {
    "ordinary user": "this is a fault of the sandbox; please report it",
    "namespaces": (
        "where it says Operation not permitted: "
        "allow unprivileged user namespaces (sysctl user.max_user_namespaces, and on Ubuntu 24.04 "
        "kernel.apparmor_restrict_unprivileged_userns=0), or in a container "
        "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
    ),
    "private files": "comes with namespaces",
    "no writing": "this is a fault of the sandbox; please report it",
    "landlock": "a kernel from 5.13 on with landlock in its list of security modules (boot "
    "parameter lsm=landlock,...), and a container profile that allows its calls",
    "limits": "raise the hard limits of the service that starts this (systemd LimitNPROC=)",
    "system calls": "a kernel with CONFIG_SECCOMP_FILTER",
}
