"""Makes the runs of docs/ablations.md, one after the other; what is done is skipped, what was cut
goes on.

python experiments/ablations/run.py [--questions gamma length merge] [--seeds 0 1 2 3 4]

`length` and `merge` start from what `mgpo pipeline experiments/tiny/` leaves in runs/tiny_pipeline.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from matrix import QUESTIONS, RUNS, runs_of

TINY = Path("experiments/tiny")
PIPELINE = Path("runs/tiny_pipeline")
PIPELINE_QUESTIONS = {"length", "merge"}
"""Those that start from the tiny pipeline's models."""


def main() -> int:
    """Make what is missing; return the exit code of the first run that fails."""
    args = _parse_args()
    if PIPELINE_QUESTIONS & set(args.questions) and not (PIPELINE / "rl_math/final").exists():
        sys.exit(f"error: {PIPELINE}/rl_math/final is missing; first: mgpo pipeline {TINY}/")
    if "gamma" in args.questions:
        _make_warm_start()
    runs = [run for name in args.questions for run in runs_of(name, args.seeds)]
    missing = [run for run in runs if not run.is_done]
    print(f"{len(runs) - len(missing)} of {len(runs)} runs are done", flush=True)
    for index, run in enumerate(missing):
        started = time.monotonic()
        code = _mgpo(*run.command())
        if code != 0:
            return code
        seconds = time.monotonic() - started
        left = (len(missing) - index - 1) * seconds / 60
        print(f"{run.name}: {seconds:.0f} s; at this speed {left:.0f} min left", flush=True)
    return 0


def _make_warm_start() -> None:
    if (RUNS / "warm_start" / "final").exists():
        return
    prepare = [sys.executable, str(TINY / "prepare.py"), "--output", "runs/tiny"]
    subprocess.run(prepare, check=True)
    code = _mgpo("sft", str(TINY / "sft.yaml"), f"run.dir={RUNS}", "run.name=warm_start")
    if code != 0:
        sys.exit(code)


def _mgpo(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "mgpo", *arguments]).returncode


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
