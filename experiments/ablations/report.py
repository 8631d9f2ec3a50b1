"""Tables and pictures of docs/ablations.md from the runs that are there.

python experiments/ablations/report.py        # from the top folder

What it writes into the page stands between two comments; a picture stands beside the page.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from matrix import QUESTIONS, Run, runs_of

from mgpo.algorithm.interval import difference_over_problems, mean_over_problems
from mgpo.algorithm.pass_at_k import pass_at_k
from mgpo.stages.pass_plot import Curve, draw_curves
from mgpo.tracking.metrics import read_metrics
from mgpo.tracking.sample_store import read_stored_samples

PAGE = Path("docs/ablations.md")
BEGIN, END = "<!-- written by report.py -->", "<!-- until here -->"
MAX_SEEDS = 100
POINTS = 5
"""Of a curve, from no sampled token to as many as all runs have."""
DOMAINS = ("math", "code", "stem", "instruct")
K = 8
Point = tuple[float, float]
Interval = tuple[float, float, float]


def main() -> None:
    """Write the page's tables and its pictures."""
    parts = []
    for question in QUESTIONS:
        runs = [run for run in runs_of(question, range(MAX_SEEDS)) if run.is_done]
        parts += merge_table(runs) if question == "merge" else _learning(question, runs)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    body = "\n".join([*parts, ""])
    PAGE.write_text(f"{before}{BEGIN}\n\n{body}\n{END}{after}", encoding="utf-8")
    print(body)


def _learning(question: str, runs: Sequence[Run]) -> list[str]:
    """Return the table of a question about training; draw its curves."""
    curves = {(run.value, run.seed): read_metrics(run.folder / "metrics.jsonl") for run in runs}
    values = list(dict.fromkeys(run.value for run in runs))
    seeds = _common_seeds(curves, values)
    if len(values) < 2 or len(seeds) < 2:
        return [f"**{question}**: not run yet.", ""]
    accuracy = {key: over_tokens(records, "eval/accuracy") for key, records in curves.items()}
    lengths = {
        key: over_tokens(records, "eval/completion_tokens_mean") for key, records in curves.items()
    }
    used = [(value, seed) for value in values for seed in seeds]
    budget = min(accuracy[key][-1][0] for key in used)
    picture = PAGE.with_name(f"ablation_{question}.svg")
    picture.write_text(_picture(question, values, seeds, accuracy, budget), encoding="utf-8")
    lines = [
        f"**{question}**: {len(seeds)} seeds, compared after {budget:,.0f} sampled tokens.",
        "",
        f"| {question} | held-out accuracy, % | against {values[0]}, points | "
        f"mean tokens | against {values[0]}, % |",
        "|---|---|---|---|---|",
    ]
    for value in values:
        own, base = (
            [at_tokens(accuracy[each, seed], budget) for seed in seeds]
            for each in (value, values[0])
        )
        own_tokens, base_tokens = (
            [at_tokens(lengths[each, seed], budget) for seed in seeds]
            for each in (value, values[0])
        )
        is_base = value == values[0]
        cells = [
            value,
            _percent(mean_over_problems(own)),
            "" if is_base else _percent(difference_over_problems(base, own), "+"),
            f"{sum(own_tokens) / len(seeds):.1f}",
            "" if is_base else _percent(_shares_longer(base_tokens, own_tokens), "+"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", f"![held-out accuracy by sampled tokens]({picture.name})", ""]


def _common_seeds(curves: Mapping[tuple[str, int], object], values: Sequence[str]) -> list[int]:
    seeds = sorted({seed for _, seed in curves})
    return [seed for seed in seeds if all((value, seed) in curves for value in values)]


def _shares_longer(before: Sequence[float], after: Sequence[float]) -> Interval:
    """Return how much longer, as shares of what was before, with the interval over the pairs."""
    ratios = [new / old - 1 for old, new in zip(before, after, strict=True)]
    return difference_over_problems([0.0] * len(ratios), ratios)


def over_tokens(records: Sequence[Mapping[str, float]], key: str) -> list[Point]:
    """Return (tokens sampled for training so far, value) of each record that has the key."""
    tokens = accumulate(record.get("rollout/tokens", 0.0) for record in records)
    pairs = zip(tokens, records, strict=True)
    return [(total, record[key]) for total, record in pairs if key in record]


def at_tokens(points: Sequence[Point], tokens: float) -> float:
    """Return the value after so many tokens, between two evaluations on the line through them."""
    index = bisect_left([total for total, _ in points], tokens)
    if index == 0:
        return points[0][1]
    (left, low), (right, high) = points[index - 1], points[index]
    return low + (high - low) * (tokens - left) / (right - left)


def _picture(
    question: str,
    values: Sequence[str],
    seeds: Sequence[int],
    accuracy: Mapping[tuple[str, int], Sequence[Point]],
    budget: float,
) -> str:
    places = [budget * index / (POINTS - 1) for index in range(POINTS)]
    curves = [
        Curve(
            name=f"{question} {value}",
            points=tuple(
                mean_over_problems([at_tokens(accuracy[value, seed], place) for seed in seeds])
                for place in places
            ),
            best=None,
        )
        for value in values
    ]
    labels = [f"{place / 1000:,.0f}k" for place in places]
    title = f"Held-out accuracy in % by sampled tokens; bars: 95 % over {len(seeds)} seeds"
    return draw_curves(title, labels, curves)


def merge_table(runs: Sequence[Run]) -> list[str]:
    """Return the table of merged against single, over the problems of all seeds' samples."""
    values = list(dict.fromkeys(run.value for run in runs))
    if len(values) < 2:
        return ["**merge**: not run yet.", ""]
    lines = [
        f"| domain | {_heads(values, 1)} | difference, points | {_heads(values, K)} | "
        "difference, points |",
        "|" + "---|" * (2 * len(values) + 3),
    ]
    for domain in DOMAINS:
        cells = [domain]
        for k in (1, K):
            shares = [dict(_pass_shares(runs, value, domain, k)) for value in values]
            problems = sorted(set.intersection(*(set(each) for each in shares)))
            columns = [[each[problem] for problem in problems] for each in shares]
            cells += [_percent(mean_over_problems(column)) for column in columns]
            cells.append(_percent(difference_over_problems(columns[0], columns[1]), "+"))
        lines.append(f"| {' | '.join(cells)} |")
    seeds = len({run.seed for run in runs})
    return [f"**merge**: {seeds} seeds of {K} samples a problem.", "", *lines, ""]


def _pass_shares(
    runs: Sequence[Run], value: str, domain: str, k: int
) -> Iterator[tuple[str, float]]:
    verdicts: dict[str, list[bool]] = {}
    for run in runs:
        if run.value != value:
            continue
        for sample in read_stored_samples(run.folder / "samples" / f"{domain}.jsonl"):
            if sample.is_valid:
                verdicts.setdefault(sample.prompt_id, []).append(sample.is_correct)
    for problem, right in verdicts.items():
        if len(right) >= k:
            yield problem, pass_at_k(len(right), sum(right), k)


def _heads(values: Sequence[str], k: int) -> str:
    return " | ".join(f"{value}, Pass@{k}, %" for value in values)


def _percent(interval: Interval, sign: str = "") -> str:
    mean, low, high = (100 * each for each in interval)
    return f"{mean:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"


if __name__ == "__main__":
    main()
