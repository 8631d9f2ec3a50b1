"""Many runs through one sandbox: nothing may pile up in its processes.

python benchmarks/sandbox_soak.py [--runs 100000] [--tier A]

Right, wrong, failing, slow, greedy and file-writing programs in turn. Afterwards, as at the start:
the processes, the judges' open files, the zygotes' mounts; and no judge's memory has grown by more
than --grown-mib. Every verdict must be the expected one. Prints growth over that limit; exit code 1
if it is missed.
"""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.config import SandboxConfig
from sandbox.pool import Sandbox
from sandbox.types import Limits, Submission, Test

PROGRAMS = (
    ("AC", "print(sum(map(int, input().split())))"),
    ("WA", "print(input())"),
    ("RE", "print(1 // 0)"),
    ("AC", "import os\nopen('f', 'w').write('x')\nprint(sum(map(int, input().split())))"),
    ("AC", "import threading\nt = threading.Thread(target=lambda: print(5))\nt.start()\nt.join()"),
    ("MLE", "x = bytearray(1 << 31)"),
    ("OLE", "print('x' * (2 << 20))"),
    ("RE", "import os\nos.fork()"),
    ("RE", "import os\nos.kill(os.getpid(), 9)"),
    ("AC", "input()\nprint(5)"),
)
LIMITS = Limits(time_s=2.0, memory_mb=128, output_mb=1)
_WARM_UP = 500


def main() -> int:
    """Prints what there is before and after."""
    args = _parse_args()
    config = SandboxConfig(num_workers=args.workers, tier=args.tier)
    with Sandbox(config) as sandbox:
        _judge(sandbox, _WARM_UP, sandbox.report.tier)
        before = _Inventory.take()
        start = time.monotonic()
        wrong = _judge(sandbox, args.runs, sandbox.report.tier)
        seconds = time.monotonic() - start
        time.sleep(1.0)
        after = _Inventory.take()
    rate = args.runs / seconds
    print(f"{args.runs} runs in {seconds:.0f} s, {rate:.0f}/s, tier {sandbox.report.tier}")
    print(f"before {before}\nafter  {after}\nwrong verdicts {wrong}")
    grown = after.judge_mib - before.judge_mib
    print(f"growth / limit = {grown / args.grown_mib:.2f} ({grown:.1f} of {args.grown_mib} MiB)")
    same = (before.processes, before.files, before.mounts) == (
        after.processes,
        after.files,
        after.mounts,
    )
    return 0 if same and not wrong and grown < args.grown_mib else 1


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--grown-mib", type=float, default=5.0)
    return parser.parse_args()


def _judge(sandbox: Sandbox, runs: int, tier: str) -> int:
    wrong = 0
    submissions = itertools.islice(_submissions(tier), runs)
    while batch := list(itertools.islice(submissions, 1000)):
        for (expected, submission), judgement in zip(
            batch, sandbox.judge(submission for _, submission in batch), strict=True
        ):
            if judgement.verdict != expected:
                wrong += 1
                print(f"{judgement.verdict} for {expected}: {submission.code!r} {judgement.tests}")
    return wrong


def _submissions(tier: str) -> Iterator[tuple[str, Submission]]:
    tests = [Test(input="2 3\n", output="5\n")]
    for expected, code in itertools.cycle(PROGRAMS):
        if "open(" in code and tier != "A":
            expected = "RE"  # no private directory
        yield expected, Submission(code=code, tests=tests, limits=LIMITS)


@dataclass(frozen=True, slots=True)
class _Inventory:
    processes: int
    files: int
    mounts: int
    judge_mib: float

    @classmethod
    def take(cls) -> "_Inventory":
        own = [*_processes("judge_process"), *_processes("import zygote")]
        judges = _processes("judge_process")
        return cls(
            processes=len(own),
            files=sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in judges),
            mounts=sum(_lines(f"/proc/{pid}/mountinfo") for pid in own),
            judge_mib=max(map(_resident_mib, judges)),
        )


def _processes(word: str) -> Sequence[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if word in path.read_text(errors="replace"):
            found.append(int(path.parent.name))
    return found


def _lines(path: str) -> int:
    return len(Path(path).read_text().splitlines())


def _resident_mib(pid: int) -> float:
    return (
        int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    )


if __name__ == "__main__":
    sys.exit(main())
