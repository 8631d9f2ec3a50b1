"""Command line: judge programs, run one, or see how well this machine contains them."""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sandbox import languages
from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import WeakSandboxError
from sandbox.pool import Sandbox
from sandbox.types import Judgement, Limits, Submission, Test
from sandbox.verdicts import HEAD

_DONE, _FAILED, _BAD_INPUT = 0, 1, 2
_SUFFIXES = {".cpp": "cpp", ".cc": "cpp", ".c": "c"}


def main() -> int:
    """Run a command; 0 when it did its work, 1 when the one program failed, 2 when the input or the
    machine does not do."""
    args = _parse_args()
    config = SandboxConfig(
        num_workers=args.workers,
        tier=args.tier,
        allow_weak_sandbox=args.allow_weak_sandbox,
        cgroup=args.cgroup,
    )
    try:
        with Sandbox(config) as sandbox:
            status: int = args.command(sandbox, args)
            return status
    except (WeakSandboxError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return _BAD_INPUT


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    commands = parser.add_subparsers(required=True)
    judge = commands.add_parser("judge", help="programs and tests in, verdicts out, as JSONL")
    judge.add_argument("--input", type=Path, required=True, help="rows as docs/sandbox.md has them")
    judge.add_argument("--output", type=Path, required=True)
    judge.add_argument("--resume", action="store_true", help="go on after the rows of the output")
    judge.set_defaults(command=_judge)
    run = commands.add_parser("run", help="one program on this standard input")
    run.add_argument("program", type=Path)
    run.add_argument("--time-s", type=float, default=Limits().time_s, help="CPU seconds")
    run.add_argument("--memory-mb", type=int, default=Limits().memory_mb)
    run.set_defaults(command=_run)
    doctor = commands.add_parser("doctor", help="which layers hold here, and what is missing")
    doctor.set_defaults(command=_explain)
    for command in (judge, run, doctor):
        command.add_argument("--workers", type=int, default=0, help="0: one per core")
        command.add_argument("--tier", default="auto", choices=["auto", "A", "B", "C"])
        command.add_argument("--cgroup", help="delegated directory of control groups")
        command.add_argument("--allow-weak-sandbox", action="store_true", help="accept tier C")
    return parser.parse_args()


def _judge(sandbox: Sandbox, args: argparse.Namespace) -> int:
    submissions = list(_read(args.input, sandbox.report.tier))
    verdicts = _judged_before(args.output, submissions) if args.resume else []
    counts = Counter(verdicts)
    with args.output.open("a" if args.resume else "w", encoding="utf-8") as file:
        for judgement in sandbox.judge_each(submissions[len(verdicts) :]):
            counts[judgement.verdict] += 1
            file.write(json.dumps(judgement.to_row()) + "\n")
            file.flush()
    shown = " ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items()))
    print(f"{len(submissions)} programs, tier {sandbox.report.tier}: {shown}")
    return _DONE


def _judged_before(path: Path, submissions: Sequence[Submission]) -> list[str]:
    """Return the verdicts that an earlier run has left, and cut off a row that it left unfinished.

    Raises ValueError when they are of other programs.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        os.truncate(path, sum(map(len, lines[:-1])))
        del lines[-1]
    rows = list(map(json.loads, lines))
    if [row["id"] for row in rows] != [each.id for each in submissions[: len(rows)]]:
        raise ValueError(f"{path} has verdicts on other programs: give another --output")
    return [row["verdict"] for row in rows]


def _read(path: Path, tier: str) -> Iterator[Submission]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row: Any = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}:{number}: not JSON: {error}") from None
            try:
                submission = Submission.from_row(row)
                languages.check(submission.language, tier)
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            yield submission


def _run(sandbox: Sandbox, args: argparse.Namespace) -> int:
    submission = Submission(
        id=args.program.name,
        code=args.program.read_text(encoding="utf-8"),
        language=_SUFFIXES.get(args.program.suffix, languages.PYTHON),
        tests=[Test(input="" if sys.stdin.isatty() else sys.stdin.read(), output="")],
        limits=Limits(time_s=args.time_s, memory_mb=args.memory_mb),
        checker_code="def check(input, output, expected):\n    return True\n",
    )
    [judgement] = sandbox.judge([submission])
    _show(judgement)
    return _DONE if judgement.verdict == "AC" else _FAILED


def _show(judgement: Judgement) -> None:
    result = judgement.tests[0]
    print(result.stdout_head, end="" if result.stdout_head.endswith("\n") else "\n")
    if len(result.stdout_head) == HEAD:
        print(f"... (only the first {HEAD} characters are kept)", file=sys.stderr)
    print(result.stderr_tail, end="", file=sys.stderr)
    end = "ran to its end" if judgement.verdict == "AC" else f"{judgement.verdict} {result.detail}"
    print(
        f"{end}: {result.time_s:.3f} s CPU, {result.wall_s:.3f} s, {result.memory_mb:.0f} MB, "
        f"tier {judgement.tier}",
        file=sys.stderr,
    )


def _explain(sandbox: Sandbox, args: argparse.Namespace) -> int:
    print(sandbox.report.explain())
    return _DONE


if __name__ == "__main__":
    sys.exit(main())
