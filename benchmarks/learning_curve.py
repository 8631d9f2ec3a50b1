"""Draws a run's accuracy over its steps as SVG, and prints the table beside it.

python benchmarks/learning_curve.py runs/smollm2/rl --output docs/smollm2.svg

Held-out accuracy with its 95 % interval, and the mean accuracy of the training groups over a few
steps, both in percent.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from mgpo.stages.summary import format_accuracy, format_gain
from mgpo.tracking.metrics import read_metrics

WIDTH, HEIGHT, MARGIN = 640, 320, 45
WINDOW = 5
"""Steps over which the training accuracy is averaged."""
Point = tuple[float, float]
Record = dict[str, float]


def main() -> None:
    """Write the picture and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--output", type=Path, required=True, help="SVG file to write")
    args = parser.parse_args()
    records = read_metrics(args.run / "metrics.jsonl")
    evaluated = [record for record in records if "eval/accuracy" in record]
    trained = [record for record in records if "reward/accuracy" in record]
    args.output.write_text(draw(evaluated, trained), encoding="utf-8")
    print("| step | held-out accuracy, % | gain, points | mean length, tokens | truncated, % |")
    print("|---|---|---|---|---|")
    for record in evaluated:
        print(
            f"| {record['step']} | {format_accuracy(record)} | {format_gain(evaluated[0], record)} "
            f"| {record['eval/completion_tokens_mean']:.1f} "
            f"| {100 * record['eval/truncated_share']:.1f} |"
        )


def draw(evaluated: Sequence[Record], trained: Sequence[Record]) -> str:
    """Return the picture as SVG."""
    last = max(record["step"] for record in (*evaluated, *trained)) or 1

    def place(step: float, share: float) -> Point:
        x = MARGIN + step / last * (WIDTH - 2 * MARGIN)
        return x, HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)

    parts = [_axes(last, place)]
    means = [
        place(record["step"], _mean(trained[max(0, index - WINDOW + 1) : index + 1]))
        for index, record in enumerate(trained)
    ]
    parts.append(_line(means, "#9ab", 1.5))
    parts.append(_line([place(r["step"], r["eval/accuracy"]) for r in evaluated], "#06c", 2))
    for record in evaluated:
        (x, low), (_, high) = (
            place(record["step"], record[f"eval/accuracy_{end}"]) for end in ("low", "high")
        )
        _, y = place(record["step"], record["eval/accuracy"])
        parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="#06c"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#06c"/>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _mean(records: Sequence[Record]) -> float:
    return sum(record["reward/accuracy"] for record in records) / len(records)


def _axes(last: float, place: Callable[[float, float], Point]) -> str:
    lines = []
    for percent in range(0, 101, 20):
        x, y = place(0, percent / 100)
        lines.append(f'<path d="M{x} {y:.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>')
        lines.append(f'<text x="{x - 6}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    for quarter in range(5):
        step = last * quarter / 4
        x, y = place(step, 0)
        lines.append(f'<text x="{x:.1f}" y="{y + 18}" text-anchor="middle">{step:.0f}</text>')
    lines.append(
        f'<text x="{WIDTH / 2}" y="20" text-anchor="middle">accuracy in % by step: '
        f'<tspan fill="#06c">held-out</tspan>, '
        f'<tspan fill="#789">training (mean of {WINDOW})</tspan></text>'
    )
    return "\n".join(lines)


def _line(points: Sequence[Point], colour: str, width: float) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


if __name__ == "__main__":
    main()
