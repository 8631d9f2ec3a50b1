"""The table a stage ends with: what was gained, how fast, and where it lies."""

from collections.abc import Mapping, Sequence

from mgpo.algorithm.interval import gain_with_interval
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
            ("held-out accuracy, %", format_accuracy(first), format_accuracy(last)),
            ("gain, points", "", format_gain(first, last)),
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


def _measured(record: Record) -> tuple[float, float, float]:
    return record["eval/accuracy"], record["eval/accuracy_low"], record["eval/accuracy_high"]


def format_accuracy(record: Record) -> str:
    """Held-out accuracy of a step in percent, with its 95 % interval."""
    accuracy, low, high = (100 * value for value in _measured(record))
    return f"{accuracy:.1f} ({low:.1f} to {high:.1f})"


def format_gain(first: Record, last: Record) -> str:
    """Gain in held-out accuracy in points, with its 95 % interval."""
    measured = gain_with_interval(_measured(first), _measured(last))
    gain, low, high = (100 * value for value in measured)
    return f"{gain:+.1f} ({low:+.1f} to {high:+.1f})"


def _mean(records: Sequence[Record], key: str) -> float:
    values = [record[key] for record in records if key in record]
    return sum(values) / len(values) if values else 0.0
