"""Runs per second and core of the sandbox, against a bare fork and other ways.

python benchmarks/sandbox_rate.py [--tiers A B] [--seconds 5] [--lcb-python PATH]

The program is `print(sum(map(int, input().split())))` with one test, kind stdin. Each way has one
worker, and they take turns, --rounds times; the figure is the median over the rounds of
ours / theirs, each against the one next to it.

After the rates: how long single programs take (median, 99th percentile) while every core is busy
and more are queued.

`fork`: what a run costs without any isolation: a process with the same modules as our zygote forks,
the child takes the program over pipes, compiles and runs it, and its output is compared. The limit.
`subprocess`: `python3 -I -S -c` for each run. `bwrap`: the same inside bubblewrap --unshare-all,
where it is installed. `manager`: a multiprocessing Manager, a forked child with an alarm, exec into
a redirected stdout, the verdict in a shared list: the way of openai/human-eval. `guarded`: the way
of LiveCodeBench: the same around a child that imports numpy, disables functions of `os`, wraps the
program into a function and replaces stdin by an object.

Goals: tier B at least 0.60 and tier A 0.40 of `fork`; tier B 10 and tier A 6 times `guarded`.
"""

import argparse
import contextlib
import faulthandler
import gc
import io
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sandbox import packages, programs
from sandbox.comparison import Tolerance, same_tokens
from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import TIERS, Tier
from sandbox.judge import Judge
from sandbox.pool import Sandbox
from sandbox.types import Submission, Test
from sandbox.zygote import PRELOADED

CODE = "print(sum(map(int, input().split())))"
STDIN, EXPECTED = "2 3\n", "5\n"
GOALS: Mapping[str, Mapping[str, float]] = {
    "A": {"fork": 0.40, "guarded": 6.0},
    "B": {"fork": 0.60, "guarded": 10.0},
}
_LATENCIES = 2000


def main() -> int:
    """Prints rates, ratios and latencies; exit code 1 if a goal is missed."""
    args = _parse_args()
    peers = {name: way for name, way in PEERS.items() if name in args.peers}
    if "bwrap" in peers and not shutil.which("bwrap"):
        print("bwrap: not installed, left out")
        del peers["bwrap"]
    judges = {tier: _judge(tier) for tier in args.tiers}
    forker = _start_forker()
    ways: dict[str, Callable[[], bool]] = {
        **{f"tier {tier}": _ours(judge) for tier, judge in judges.items()},
        "fork": forker,
        **peers,
    }
    for name, way in ways.items():
        assert way(), name  # the warm-up
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, way in ways.items():
            rates[name].append(_rate(way, args.seconds))
    for name, seen in rates.items():
        middle = statistics.median(seen)
        print(f"{name:12} {middle:8.1f} runs/s, {min(seen):.0f} to {max(seen):.0f}")
    reached = [_reached(tier, rates) for tier in args.tiers]
    for tier in args.tiers:
        _tell_latencies(tier)
    return 0 if all(reached) else 1


def _reached(tier: str, rates: Mapping[str, Sequence[float]]) -> bool:
    is_good = True
    for peer, seen in rates.items():
        if peer.startswith("tier"):
            continue
        ratio = statistics.median(
            ours / theirs for ours, theirs in zip(rates[f"tier {tier}"], seen, strict=True)
        )
        goal = GOALS[tier].get(peer)
        print(f"tier {tier} / {peer}: {ratio:.2f}" + (f" (goal {goal})" if goal else ""))
        is_good &= goal is None or ratio >= goal
    return is_good


def _tell_latencies(tier: Tier) -> None:
    """Print how long single programs took while every core had one and more were queued."""
    submission = Submission(code=CODE, tests=[Test(input=STDIN, output=EXPECTED)])
    with Sandbox(SandboxConfig(tier=tier)) as sandbox:
        sandbox.judge([submission] * 100)
        times_ms = sorted(1000 * j.time_s for j in sandbox.judge([submission] * _LATENCIES))
    middle, late = times_ms[_LATENCIES // 2], times_ms[_LATENCIES * 99 // 100]
    print(
        f"tier {tier}, all cores: p50 {middle:.2f} ms, p99 {late:.2f} ms, "
        f"longest {times_ms[-1]:.1f} ms; p99 / p50 = {late / middle:.2f}"
    )


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiers", nargs="*", default=["A", "B"], choices=["A", "B"])
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each way in each round")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def _rate(way: Callable[[], bool], seconds: float) -> float:
    start = time.perf_counter()
    count = 0
    while time.perf_counter() - start < seconds:
        assert way()
        count += 1
    return count / (time.perf_counter() - start)


# ---- ours


def _judge(tier: Tier) -> Judge:
    readable, searched = packages.locate()
    return Judge({**TIERS[tier], "library_dirs": readable, "package_dirs": searched}, tier)


def _ours(judge: Judge) -> Callable[[], bool]:
    submission = Submission(code=CODE, tests=[Test(input=STDIN, output=EXPECTED)])
    return lambda: judge.judge(submission).verdict == "AC"


# ---- a bare fork


def _start_forker() -> Callable[[], bool]:
    """Start a process that forks on demand; a run is asked for and answered over pipes."""
    ask_out, ask_in = os.pipe()
    answer_out, answer_in = os.pipe()
    for descriptor in (ask_out, answer_in):
        os.set_inheritable(descriptor, True)
    arguments = ["-S", __file__, "--forker", str(ask_out), str(answer_in)]
    subprocess.Popen(
        [sys.executable, *arguments],
        pass_fds=[ask_out, answer_in],
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )

    def run() -> bool:
        os.write(ask_in, b"\n")
        return same_tokens(os.read(answer_out, 65536), EXPECTED.encode(), Tolerance())

    return run


def forker(asked: int, answered: int) -> None:
    """Fork a child for each request and pass on what it prints."""
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    while os.read(asked, 1):
        stdin_out, stdin_in = os.pipe()
        stdout_out, stdout_in = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(stdin_out, 0)
            os.dup2(stdout_in, 1)
            os.closerange(3, 20)
            sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
            sys.__stdout__ = sys.stdout
            programs.run(CODE)
            programs.end(None)
        os.close(stdin_out)
        os.close(stdout_in)
        os.write(stdin_in, STDIN.encode())
        os.close(stdin_in)
        output = b""
        while chunk := os.read(stdout_out, 65536):
            output += chunk
        os.close(stdout_out)
        os.waitpid(child, 0)
        os.write(answered, output)


# ---- other ways


def _subprocess(prefix: Sequence[str] = ()) -> bool:
    done = subprocess.run(
        [*prefix, "/usr/bin/python3", "-I", "-S", "-c", CODE],
        input=STDIN.encode(),
        capture_output=True,
    )
    return done.stdout == EXPECTED.encode()


_BWRAP = (
    "bwrap",
    "--unshare-all",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
)


def _in_child(target: Callable[[Any], None]) -> bool:
    with multiprocessing.Manager() as manager:
        result = manager.list()
        child = multiprocessing.get_context("fork").Process(target=target, args=(result,))
        child.start()
        child.join(timeout=5)
        if child.is_alive():
            child.kill()
        return list(result) == ["passed"]


def _with_alarm(result: Any) -> None:
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(1))
    signal.setitimer(signal.ITIMER_REAL, 3)
    output = io.StringIO()
    sys.stdin = io.StringIO(STDIN)
    with contextlib.redirect_stdout(output):
        exec(CODE, {"__name__": "__main__"})
    result.append("passed" if output.getvalue() == EXPECTED else "failed")


def _guarded(result: Any) -> None:
    import numpy  # noqa: F401

    faulthandler.disable()
    kept = os._exit
    for name in ("kill", "system", "fork", "remove", "rename", "rmdir", "chmod", "chown", "unlink"):
        setattr(os, name, None)
    indented = "\n".join("    " + line for line in CODE.splitlines())
    space: dict[str, Any] = {}
    exec(
        compile(
            f"import string, re, datetime, collections, heapq, bisect, copy, math, random, "
            f"statistics, itertools, functools, operator, io, sys, json\n"
            f"def wrapped_function():\n{indented}\n",
            "<s>",
            "exec",
        ),
        space,
    )
    output = io.StringIO()
    sys.stdin = io.StringIO(STDIN)
    with contextlib.redirect_stdout(output):
        space["wrapped_function"]()
    result.append("passed" if output.getvalue().split() == EXPECTED.split() else "failed")
    os._exit = kept


PEERS: Mapping[str, Callable[[], bool]] = {
    "subprocess": _subprocess,
    "bwrap": lambda: _subprocess(_BWRAP),
    "manager": lambda: _in_child(_with_alarm),
    "guarded": lambda: _in_child(_guarded),
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--forker"]:
        forker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
