"""Does the tiny experiment learn, and only from its rewards? Several seeds and a control run.

python benchmarks/tiny_learning.py --seeds 0 1 2

Each seed gets a warm start and an RL run of its own; the control repeats the first seed's RL run
with rewards permuted inside each batch. Prints held-out accuracy before and after RL, the gain in
points, and the gain of the control. About eight minutes a seed on two cores.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from mgpo.tracking.metrics import read_metrics

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENT = ROOT / "experiments" / "tiny"


def mgpo(*arguments: str) -> None:
    """Run one stage; its log goes to this script's standard error."""
    subprocess.run([sys.executable, "-m", "mgpo", *arguments], check=True, stdout=sys.stderr)


def warm_start(folder: Path, seed: int) -> Path:
    """Train the warm start of a seed and return its model."""
    mgpo("sft", str(EXPERIMENT / "sft.yaml"), f"run.dir={folder}", f"run.name=sft{seed}",
         f"run.seed={seed}")  # fmt: skip
    return folder / f"sft{seed}" / "final"


def reinforce(folder: Path, seed: int, name: str, model: Path, *overrides: str) -> Path:
    """Run MGPO from a warm start and return the run's folder."""
    mgpo("rl", str(EXPERIMENT / "rl.yaml"), f"run.dir={folder}", f"run.name={name}",
         f"run.seed={seed}", f"model.path={model}", *overrides)  # fmt: skip
    return folder / name


def report(run: Path) -> None:
    """Print one line of the table."""
    evaluated = [r for r in read_metrics(run / "metrics.jsonl") if "eval/accuracy" in r]
    before, after = evaluated[0], evaluated[-1]
    gain = 100 * (after["eval/accuracy"] - before["eval/accuracy"])
    cells = [
        f"{100 * r['eval/accuracy']:.1f} ({100 * r['eval/accuracy_low']:.1f} to "
        f"{100 * r['eval/accuracy_high']:.1f})"
        for r in (before, after)
    ]
    print(f"{run.name:<12}{cells[0]:>24}{cells[1]:>24}{gain:>+10.1f}", flush=True)


def main() -> None:
    """Run all seeds and the control."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, default=Path("runs/tiny_learning"))
    args = parser.parse_args()
    prepare = [sys.executable, str(EXPERIMENT / "prepare.py"), "--output", "runs/tiny"]
    subprocess.run(prepare, check=True)
    print(f"{'run':<12}{'before, %':>24}{'after, %':>24}{'gain':>10}", flush=True)
    models = {seed: warm_start(args.folder, seed) for seed in args.seeds}
    for seed in args.seeds:
        report(reinforce(args.folder, seed, f"rl{seed}", models[seed]))
    first = args.seeds[0]
    control = "algorithm.permute_outcomes=true"
    report(reinforce(args.folder, first, "control", models[first], control))


if __name__ == "__main__":
    main()
