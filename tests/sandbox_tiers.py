"""Opens a sandbox of a tier, or skips the test where this machine cannot have it; its processes."""

from pathlib import Path

import pytest

from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import WeakSandboxError
from sandbox.pool import Sandbox


def open_sandbox(tier, num_workers=0):
    """Return a sandbox of that tier."""
    try:
        return Sandbox(SandboxConfig(num_workers=num_workers, tier=tier))
    except WeakSandboxError as error:
        pytest.skip(f"tier {tier} is not to be had here: {error}")


def processes(word):
    """List the ids of the processes whose command line holds `word`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def descendants(process):
    """List the ids of all processes below one."""
    below = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            below += [child, *descendants(child)]
    return below


def still_running(ids):
    """List those of the processes that have not ended."""
    return [each for each in ids if Path(f"/proc/{each}").exists()]
