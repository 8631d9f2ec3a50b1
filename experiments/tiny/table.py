"""Every model of the tiny pipeline on every domain, and what each stage changed, from the samples
that the evaluations stored.

python experiments/tiny/table.py --runs runs/tiny_pipeline --output runs/tiny_pipeline/table.md
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from mgpo.algorithm.interval import difference_over_problems, mean_over_problems
from mgpo.algorithm.pass_at_k import pass_at_k
from mgpo.tracking.sample_store import StoredSample, read_stored_samples

DOMAINS = ("math", "code", "stem", "instruct")
K = 8
COMPARISONS = (
    ("math", "sft", "math", "MGPO on math"),
    ("long2short", "math", "math", "Long2Short"),
    ("control", "math", "math", "as many steps without it"),
    ("long2short", "control", "math", "Long2Short against those"),
    ("code", "long2short", "code", "MGPO on code"),
    ("stem", "code", "stem", "MGPO on STEM"),
    ("distill", "long2short", "math", "the student against the math teacher"),
    ("distill", "code", "code", "the student against the code teacher"),
    ("distill", "stem", "stem", "the student against the STEM teacher"),
    ("instruct", "distill", "instruct", "MGPO on instructions"),
    ("instruct", "distill", "math", "the same, elsewhere"),
    ("instruct", "distill", "code", "the same, elsewhere"),
    ("instruct", "distill", "stem", "the same, elsewhere"),
)
"""(model, compared to, domain, what differs)."""

Problems = Mapping[str, Sequence[StoredSample]]
"""Id of a problem -> its samples with a verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One model on one domain, a figure per problem."""

    pass_at_1: Mapping[str, float]
    pass_at_k: Mapping[str, float]
    lengths: Mapping[str, float]
    """Mean tokens of the right samples of each problem that has one."""
    num_samples: int


def main() -> None:
    """Writes the table as Markdown, and prints it."""
    args = _parse_args()
    names = sorted({name for pair in COMPARISONS for name in pair[:2]}, key=_order)
    cells = {
        (name, domain): _cell(_problems(args.runs / f"evaluate_{name}", domain))
        for name in names
        for domain in DOMAINS
    }
    text = "\n".join([*_table(names, cells), "", *_comparisons(cells)])
    args.output.write_text(text + "\n", encoding="utf-8")
    print(text)


def _order(name: str) -> int:
    return ("sft", "math", "long2short", "control", "code", "stem", "distill", "instruct").index(
        name
    )


def _problems(run: Path, domain: str) -> Problems:
    problems: dict[str, list[StoredSample]] = defaultdict(list)
    for sample in read_stored_samples(run / "samples" / f"{domain}.jsonl"):
        if sample.is_valid:
            problems[sample.prompt_id].append(sample)
    return problems


def _cell(problems: Problems) -> Cell:
    right = {
        name: [sample.num_tokens for sample in samples if sample.is_correct]
        for name, samples in problems.items()
    }
    return Cell(
        pass_at_1={name: len(right[name]) / len(samples) for name, samples in problems.items()},
        pass_at_k={
            name: pass_at_k(len(samples), len(right[name]), K)
            for name, samples in problems.items()
            if len(samples) >= K
        },
        lengths={name: fmean(tokens) for name, tokens in right.items() if tokens},
        num_samples=sum(map(len, problems.values())),
    )


def _table(names: Sequence[str], cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    lines = [
        f"| model | domain | Pass@1, % | Pass@{K}, % | tokens of right answers | samples |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        for domain in DOMAINS:
            cell = cells[name, domain]
            figures = (
                _share(cell.pass_at_1.values()),
                _share(cell.pass_at_k.values()),
                f"{fmean(cell.lengths.values()):.1f}" if cell.lengths else "-",
                str(cell.num_samples),
            )
            lines.append(f"| {' | '.join([name, domain, *figures])} |")
    return lines


def _comparisons(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    lines = [
        f"| what | domain | Pass@1, points | Pass@{K}, points | tokens of right answers, % |",
        "|---|---|---|---|---|",
    ]
    for name, other, domain, what in COMPARISONS:
        new, old = cells[name, domain], cells[other, domain]
        figures = (
            _difference(new, old, lambda cell: cell.pass_at_1),
            _difference(new, old, lambda cell: cell.pass_at_k),
            _shortening(new, old),
        )
        lines.append(f"| {' | '.join([f'{what} ({name} - {other})', domain, *figures])} |")
    return lines


def _difference(new: Cell, old: Cell, figure: Callable[[Cell], Mapping[str, float]]) -> str:
    """The paired difference over the problems that both have, in points."""
    left, right = figure(new), figure(old)
    both = sorted(left.keys() & right.keys())
    measured = difference_over_problems(
        [right[name] for name in both], [left[name] for name in both]
    )
    return _interval(measured, "+")


def _shortening(new: Cell, old: Cell) -> str:
    """The paired difference of lengths where both have right answers, in percent of the old."""
    both = sorted(new.lengths.keys() & old.lengths.keys())
    if not both:
        return "-"
    whole = fmean(old.lengths[name] for name in both)
    measured = difference_over_problems(
        [old.lengths[name] / whole for name in both], [new.lengths[name] / whole for name in both]
    )
    return _interval(measured, "+")


def _share(values: Iterable[float]) -> str:
    return _interval(mean_over_problems(list(values)), "")


def _interval(measured: tuple[float, float, float], sign: str) -> str:
    value, low, high = (100 * each for each in measured)
    return f"{value:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="folder with evaluate_*")
    parser.add_argument("--output", type=Path, required=True, help="Markdown file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
