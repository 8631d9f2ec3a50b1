"""The tables an evaluation prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgpo.tracking.result_files import ResultFiles

_HEAD = ("benchmark", "problems", "Pass@1, %", "Pass@K, %", "maj@K, %", "cut, %", "tokens", "s")
_INSTRUCTIONS = ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose")


def evaluation_table(record: Mapping[str, Any], files: ResultFiles) -> str:
    """Return figures, sampling and places of a finished evaluation as text."""
    results: Mapping[str, Mapping[str, Any]] = record["benchmarks"]
    lines = [f"model {record['model']}", "", align([_HEAD, *map(_row, results.values())])]
    details = [line for each in results.values() for line in _details(each)]
    lines += ["", *details] if details else []
    lines += [
        "",
        *(f"{each['title']}: {sampling_line(each['sampling'])}" for each in results.values()),
    ]
    return "\n".join([*lines, "", f"results {files.results_path}"])


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as text in columns; the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def percent(figure: Mapping[str, float]) -> str:
    """Return a figure with its 95 % interval, in percent."""
    mean, low, high = (100 * figure[key] for key in ("mean", "low", "high"))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _row(result: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(result["title"]),
        f"{result['problems']} x {result['sampling']['samples_per_prompt']}",
        percent(result["pass@1"]),
        _last(result, "pass@"),
        _last(result, "maj@"),
        f"{100 * result['truncated_share']:.1f}",
        f"{result['tokens_per_sample']:,.0f}",
        f"{result['seconds']:,.0f}",
    )


def _last(result: Mapping[str, Any], prefix: str) -> str:
    """Return the figure of the largest K, with its K."""
    keys = [key for key in result if key.startswith(prefix)]
    return f"@{keys[-1].removeprefix(prefix)} {100 * result[keys[-1]]['mean']:.1f}" if keys else "-"


def _details(result: Mapping[str, Any]) -> Iterator[str]:
    title = result["title"]
    for key in _INSTRUCTIONS:
        if key in result:
            yield f"{title}, {key.replace('_', ' level ')}: {percent(result[key])}"
    if "contests" in result:
        for name, counts in result["contests"].items():
            yield f"{title}, {name}: {counts['accepted']}/{counts['attempts']} accepted"
        yield f"{title}: {result['accepted']}/{result['attempts']} accepted"
    if result["samples_without_verdict"]:
        yield (
            f"{title}: {result['samples_without_verdict']} of {result['samples']} samples have no "
            f"verdict and are left out, with {result['problems_without_verdict']} whole problems"
        )
    for at_k, count in result.get("left_out", {}).items():
        yield (
            f"{title}: {count} of {result['problems']} problems have too few verdicts for the "
            f"figures {at_k}, and are left out of them"
        )
    if "judged_twice" in result:
        yield (
            f"{title}: rule and judge disagree on {result['judged_differently']} of "
            f"{result['judged_twice']} answers (disagreements/)"
        )


def sampling_line(sampling: Mapping[str, Any]) -> str:
    """Return how samples were drawn, from a result's facts."""
    cap = sampling["max_completion_tokens"] or sampling["context"] or "the server's"
    top_k = "off" if sampling["top_k"] == -1 else sampling["top_k"]
    return (
        f"temperature {sampling['temperature']}, top-p {sampling['top_p']}, top-k {top_k}, at most "
        f"{cap} tokens{'' if sampling['max_completion_tokens'] else ' (context)'}, seed "
        f"{sampling['seed']}, engine {sampling['engine']}"
    )
