"""How strong the isolation is on this machine, as witnessed, and what is missing.

A: namespaces, Landlock, system call filter, limits, ordinary user. B: the same without namespaces,
as in a default container. C: no Landlock either: files can be read, not written. D: no filter.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox.isolation import landlock, linux
from sandbox.isolation.probes import FIXES, PROBES, LayerName, Probe

Tier = Literal["A", "B", "C", "D"]
TIERS: Mapping[Tier, Mapping[str, bool]] = {
    "A": {"uses_namespaces": True, "uses_landlock": True},
    "B": {"uses_namespaces": False, "uses_landlock": True},
    "C": {"uses_namespaces": False, "uses_landlock": False},
}
"""Settings of the zygotes of each tier."""
_LAYERS: Mapping[Tier, tuple[LayerName, ...]] = {
    "A": (
        "ordinary user",
        "limits",
        "system calls",
        "no writing",
        "landlock",
        "namespaces",
        "private files",
    ),
    "B": ("ordinary user", "limits", "system calls", "no writing", "landlock"),
    "C": ("ordinary user", "limits", "system calls", "no writing"),
}


class WeakSandboxError(RuntimeError):
    """This machine cannot contain a program as well as was asked for."""


@dataclass(frozen=True, slots=True)
class TierReport:
    """Which tier was witnessed, and why not a better one."""

    tier: Tier
    faults: Mapping[Tier, Mapping[LayerName, str]] = field(default_factory=dict)
    """For each better tier: the layers that failed and what was seen."""

    def explain(self) -> str:
        """Say in lines what is on, what is missing, and how to get it."""
        lines = [f"tier {self.tier}"]
        lines += [f"  on: {layer}" for layer in _LAYERS.get(self.tier, ())]
        for tier, layers in self.faults.items():
            for layer, seen in layers.items():
                lines.append(f"  missing for tier {tier}: {layer} ({seen})")
                lines.append(f"    to have it: {FIXES[layer]}")
        return "\n".join(lines)


def witness(run: Callable[[Tier, Probe], str], only: str = "auto") -> TierReport:
    """Try the tiers from the strongest on, or only one; `run` gives a probe's output in a tier.

    `run` raises RuntimeError when no process of that tier starts.
    """
    faults: dict[Tier, Mapping[LayerName, str]] = {}
    if not sys.platform.startswith("linux") or linux.MACHINE not in linux.SUPPORTED_MACHINES:
        return TierReport("D", {"A": {"system calls": f"{sys.platform} on {linux.MACHINE}"}})
    for tier in TIERS if only == "auto" else [tier for tier in TIERS if tier == only]:
        found = _faults_of(tier, run)
        if not found:
            return TierReport(tier, faults)
        faults[tier] = found
    return TierReport("D", faults)


def _faults_of(tier: Tier, run: Callable[[Tier, Probe], str]) -> Mapping[LayerName, str]:
    if TIERS[tier]["uses_landlock"] and not landlock.abi_version():
        return {"landlock": "the kernel has no Landlock"}
    faults: dict[LayerName, str] = {}
    for probe in PROBES:
        if probe.layer not in _LAYERS[tier]:
            continue
        try:
            seen = run(tier, probe)
        except RuntimeError as error:
            return {"namespaces" if tier == "A" else "system calls": str(error)}
        if seen != "refused":
            faults[probe.layer] = f"a probe reached: {seen}"
    return faults


def require(report: TierReport, *, allow_weak: bool) -> None:
    """Refuse what is too weak. Raises WeakSandboxError, which says what is open and how to close
    it."""
    if report.tier in ("A", "B") or (report.tier == "C" and allow_weak):
        return
    open_to = f"programs could read every file that uid {os.getuid() or 65534} can"
    if report.tier == "D":
        open_to = "programs could do all that this user can"
    hint = "" if report.tier == "D" else "; allow_weak_sandbox=True accepts that"
    raise WeakSandboxError(f"{open_to}{hint}\n{report.explain()}")
