"""Makes the runs of docs/ablations.md, one after the other; what is done is skipped, what was cut
goes on.

python experiments/ablations/run.py [--questions gamma length merge] [--seeds 0 1 2 3 4]

`length` and `merge` start from what `mgpo pipeline experiments/tiny/` leaves in runs/tiny_pipeline.
"""

import argparse
import sys
import time
from pathlib import Path

from matrix import QUESTIONS, RUNS, runs_of

from mgpo.config.errors import Interrupted
from mgpo.pipeline.launch import run_process

TINY = Path("experiments/tiny")
PIPELINE = Path("runs/tiny_pipeline")
FROM_PIPELINE = {
    "length": ("rl_math/final", "filter_math/rows.jsonl", "data/heldout_math.jsonl"),
    "merge": ("sft_broad/final", "merge_broad", "data/heldout_math.jsonl"),
}
"""What a question takes from the tiny pipeline."""


def main() -> int:
    """Make what is missing; return the exit code of the first run that fails."""
    args = _parse_args()
    needed = [PIPELINE / file for name in args.questions for file in FROM_PIPELINE.get(name, ())]
    if absent := [str(path) for path in needed if not path.exists()]:
        sys.exit(f"error: missing: {', '.join(absent)}; first: mgpo pipeline {TINY}/")
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
    code = _python(str(TINY / "prepare.py"), "--output", "runs/tiny")
    code = code or _mgpo("sft", str(TINY / "sft.yaml"), f"run.dir={RUNS}", "run.name=warm_start")
    if code != 0:
        sys.exit(code)


def _mgpo(*arguments: str) -> int:
    return _python("-m", "mgpo", *arguments)


def _python(*arguments: str) -> int:
    """Run to the end and return the exit code; a signal reaches the run, which saves its state."""
    code, _ = run_process([sys.executable, *arguments], "the run")
    return code if code >= 0 else 1


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Interrupted:
        sys.exit(130)
