"""A judge as a process of its own: requests in, judgements out, until its parent is gone.

Run by `pool` as `python -c`. Hostile bytes are read here and not in the process that asked.
"""

import json
import marshal
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from sandbox import packages
from sandbox.framing import receive, send
from sandbox.isolation import cgroups, linux
from sandbox.isolation.probes import Probe
from sandbox.isolation.tiers import TIERS, Tier, TierReport, witness
from sandbox.judge import Judge
from sandbox.runner import SandboxFault, Task
from sandbox.types import Limits, Submission
from sandbox.verdicts import process_limits, wall_limit

_PROBE_LIMITS = Limits(time_s=10.0, memory_mb=256)
_DEPTH = 20_000  # comparing nested answers recurses


def main() -> NoReturn:
    """Serve the socket whose number is in argv, in the control group that may follow it."""
    for group in sys.argv[2:]:
        cgroups.enter(Path(group))
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # each run has a limit of its own
    sys.setrecursionlimit(_DEPTH)
    channel = socket.socket(fileno=int(sys.argv[1]))
    judges = _Judges()
    while (request := receive(channel)) is not None:
        # Requests come from whom we serve; an answer must not be able to harm its reader.
        send(channel, json.dumps(judges.answer(marshal.loads(request))).encode())
    judges.close()
    os._exit(0)


class _Judges:
    def __init__(self) -> None:
        self._judge: Judge | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what one request asks: `witness` the tiers, `open` one, or `judge` a submission."""
        if "witness" in request:
            report = self._witness(request["witness"])
            return {"tier": report.tier, "faults": report.faults}
        if "open" in request:
            self._judge = _open(request["open"])
            return {}
        assert self._judge is not None
        return self._judge.judge(Submission.from_row(request["judge"])).to_row()

    def _witness(self, only: str) -> TierReport:
        judges: dict[Tier, Judge] = {}

        def run(tier: Tier, probe: Probe) -> str:
            judge = judges.setdefault(tier, _open(tier))
            task = Task(
                role="stdin",
                payload={"code": probe.program, "seed": 0},
                limits=process_limits(_PROBE_LIMITS),
                wall_s=wall_limit(_PROBE_LIMITS),
            )
            output = judge.run("", task)
            if not output.ended.is_confined:
                raise SandboxFault(output.stderr.decode(errors="replace"))
            return (output.stdout or output.stderr[-300:]).decode(errors="replace").strip()

        try:
            return witness(run, only)
        finally:
            for judge in judges.values():
                judge.close()

    def close(self) -> None:
        if self._judge:
            self._judge.close()


def _open(tier: Tier) -> Judge:
    readable, searched = packages.locate()
    settings = {**TIERS[tier], "library_dirs": readable, "package_dirs": searched}
    return Judge(settings, tier)
