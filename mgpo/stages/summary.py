"""The table a stage ends with: what was gained, how fast, and where it lies."""

from collections.abc import Mapping, Sequence

from mgpo.tracking.metrics import read_metrics
from mgpo.tracking.run_dir import RunDir

Record = Mapping[str, float]


def summarize(run_dir: RunDir) -> str:
    """Return the table of a run, read from its metrics.jsonl."""
    records = read_metrics(run_dir.metrics_path)
    evaluated = [record for record in records if "eval/accuracy" in record]
    lines = []
    if evaluated:
        first, last = evaluated[0], evaluated[-1]
        lines = [
            ("", f"step {first['step']}", f"step {last['step']}"),
            ("held-out accuracy, %", _accuracy(first), _accuracy(last)),
            (
                "mean length, tokens",
                *(f"{r['eval/completion_tokens_mean']:.1f}" for r in (first, last)),
            ),
            ("truncated, %", *(f"{100 * r['eval/truncated_share']:.1f}" for r in (first, last))),
            ("held-out completions", *(f"{r['eval/samples']:.0f}" for r in (first, last))),
        ]
    table = "\n".join(f"{name:<24}{left:>22}{right:>22}" for name, left, right in lines)
    # A supervised stage generates in its evaluations only.
    generated = _mean(records, "rollout/tokens_per_s") or _mean(records, "eval/tokens_per_s")
    speeds = (
        f"rollout tokens/s {generated:,.0f}",
        f"learner tokens/s {_mean(records, 'learner/tokens_per_s'):,.0f}",
    )
    return f"{table}\n{'   '.join(speeds)}\nrun {run_dir.path}   model {run_dir.final_dir}"


def _accuracy(record: Record) -> str:
    low, high = 100 * record["eval/accuracy_low"], 100 * record["eval/accuracy_high"]
    return f"{100 * record['eval/accuracy']:.1f} ({low:.1f} to {high:.1f})"


def _mean(records: Sequence[Record], key: str) -> float:
    values = [record[key] for record in records if key in record]
    return sum(values) / len(values) if values else 0.0
