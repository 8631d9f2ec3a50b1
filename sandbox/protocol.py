"""What a judge and its zygotes say to each other: small trusted messages, marshalled."""

import marshal
import os
from dataclasses import astuple, dataclass, field

from sandbox.isolation.confinement import ProcessLimits

RESULT = 3
"""The descriptor on which a child that has an answer writes it."""
KILL = b"\x00kill"
"""Sent to end the current run."""


def write_result(data: bytes) -> None:
    """Write all of a child's answer and close the descriptor."""
    while data:
        data = data[os.write(RESULT, data) :]
    os.close(RESULT)


@dataclass(frozen=True, kw_only=True, slots=True)
class ZygoteSettings:
    """How a zygote is started; travels as JSON."""

    socket: int
    uses_namespaces: bool
    uses_landlock: bool
    is_scientific: bool
    uid: int
    """What root becomes; its own for each zygote, so that threads are counted apart."""
    library_dirs: list[str] = field(default_factory=list)
    """Readable beside the interpreter's own."""
    package_dirs: list[str] = field(default_factory=list)
    """Added to sys.path."""
    box_mib: int = 16
    box_files: int = 1024


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run. Descriptors travel beside it: stdin, stdout, stderr, payload, then the role's."""

    role: str
    limits: ProcessLimits
    wall_s: float
    """Without the time in which the process was ready and had no core."""
    longest_wall_s: float
    """With it; reached, the run proves nothing."""

    def dump(self) -> bytes:
        """Serialise."""
        return marshal.dumps((self.role, astuple(self.limits), self.wall_s, self.longest_wall_s))

    @classmethod
    def load(cls, message: bytes) -> "RunRequest | None":
        """Read a request; None for a KILL that came too late."""
        if message == KILL:
            return None
        role, limits, wall_s, longest_wall_s = marshal.loads(message)
        return cls(role, ProcessLimits(*limits), wall_s, longest_wall_s)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    reason: str
    """`exit`, or why it was killed: `cpu`, `wall`, `starved` (no core to run on), `told`."""
    status: int
    """As wait4 gives it."""
    is_confined: bool
    """False when the child died before it ran anything of the program: a fault of ours."""
    cpu_s: float
    wall_s: float
    peak_kib: int

    def dump(self) -> bytes:
        """Serialise."""
        return marshal.dumps(
            (self.reason, self.status, self.is_confined, self.cpu_s, self.wall_s, self.peak_kib)
        )

    @classmethod
    def load(cls, message: bytes) -> "Ended":
        """Read what a zygote sent."""
        return cls(*marshal.loads(message))
