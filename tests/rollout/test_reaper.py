"""What an engine started ends with the engine's process, however that ends."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from mgpo.rollout.reaper import marked_processes

PARENT = """
import os, subprocess, sys, time
from mgpo.rollout.reaper import Reaper
reaper = Reaper()
nested = "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", nested], start_new_session=True)
time.sleep(1)
print(os.environ["MGPO_ENGINE_MARK"], flush=True)
if sys.argv[1] == "close":
    reaper.end_now()
time.sleep(600)
"""


def start_parent(how: str) -> tuple[subprocess.Popen[str], str]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    return parent, parent.stdout.readline().strip()


def wait_until_gone(mark: str) -> None:
    end = time.monotonic() + 10
    while marked_processes(mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert marked_processes(mark) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_children_in_sessions_of_their_own_end_with_a_killed_parent(number):
    parent, mark = start_parent("wait")
    assert len(marked_processes(mark)) == 2
    os.kill(parent.pid, number)
    parent.wait()
    wait_until_gone(mark)


def test_the_reaper_outlives_a_killer_of_the_parents_children():
    """As Ray does when it ends an actor: first all direct children, then the process."""
    parent, mark = start_parent("wait")
    for child in psutil.Process(parent.pid).children():
        child.kill()
    parent.kill()
    parent.wait()
    wait_until_gone(mark)


def test_closing_ends_the_children_and_not_the_parent():
    parent, mark = start_parent("close")
    wait_until_gone(mark)
    assert parent.poll() is None
    parent.kill()
    parent.wait()
