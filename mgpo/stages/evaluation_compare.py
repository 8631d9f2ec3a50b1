"""`mgpo evaluate --compare A B`: paired differences of two evaluations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mgpo.algorithm.interval import difference_over_problems, mean_over_problems
from mgpo.config.errors import UserError
from mgpo.stages.benchmark_results import figure
from mgpo.stages.evaluation_table import align, percent
from mgpo.tracking.result_files import ResultFiles

_HEAD = ("benchmark", "problems", "A: Pass@1, %", "B: Pass@1, %", "B - A, points")


def run(first: Path, second: Path) -> str:
    """Return a table: Pass@1 of both, and the difference with its 95 % interval over problems.

    All three are over the problems that have a verdict in both; how many have none, and other
    sampling, is said below the table. Raises UserError for a folder that holds no results, for
    runs without a common benchmark or problem, and where a benchmark asked other problems.
    """
    a, b = ResultFiles(first), ResultFiles(second)
    results = a.read_results()["benchmarks"], b.read_results()["benchmarks"]
    manifests = a.read_manifest()["benchmarks"], b.read_manifest()["benchmarks"]
    common = [name for name in results[0] if name in results[1]]
    if not common:
        raise UserError(
            f"{first} has {', '.join(results[0])} and {second} {', '.join(results[1])}: "
            "there is no benchmark that both have"
        )
    rows: list[tuple[str, ...]] = [_HEAD]
    notes: list[str] = []
    for name in common:
        _refuse_other_problems(name, manifests[0][name], manifests[1][name])
        row, left_out = _row(name, a, b, results[0][name]["title"], manifests[0][name])
        rows.append(row)
        notes += left_out
        notes += _differences(name, manifests[0][name]["sampling"], manifests[1][name]["sampling"])
    for path, own, other in ((first, *results), (second, *reversed(results))):
        only = [name for name in own if name not in other]
        notes += [f"only in {path}: {', '.join(only)}"] if only else []
    return "\n".join([f"A {first}", f"B {second}", "", align(rows), *notes])


def _refuse_other_problems(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    if a["problems_sha256"] != b["problems_sha256"]:
        raise UserError(
            f"benchmark {name} cannot be compared: the problems differ, or their prompts, "
            f"references or rewards ({a['num_problems']} and {b['num_problems']} problems, "
            f"SHA-256 {a['problems_sha256'][:12]} and {b['problems_sha256'][:12]}; manifest.json "
            "has the definitions); evaluate both with the same"
        )


def _row(
    name: str, a: ResultFiles, b: ResultFiles, title: str, facts: Mapping[str, Any]
) -> tuple[tuple[str, ...], list[str]]:
    """Return a line of the table, and what is to be said below it."""
    accuracies = [
        {row["id"]: float(row["accuracy"]) for row in files.read_problems(name)} for files in (a, b)
    ]
    # A problem without a verdict on one side has no row there.
    common = [key for key in accuracies[0] if key in accuracies[1]]
    if not common:
        raise UserError(
            f"benchmark {name} cannot be compared: none of its {facts['num_problems']} problems "
            f"has a verdict in both {a.path} and {b.path}; evaluate again: the same command grades "
            "what has none"
        )
    before, after = ([side[key] for key in common] for side in accuracies)
    mean, low, high = (100 * value for value in difference_over_problems(before, after))
    row = (
        title,
        str(len(common)),
        percent(figure(mean_over_problems(before))),
        percent(figure(mean_over_problems(after))),
        f"{mean:+.1f} ({low:+.1f} to {high:+.1f})",
    )
    num_left_out = facts["num_problems"] - len(common)
    if not num_left_out:
        return row, []
    return row, [
        f"{name}: {num_left_out} of {facts['num_problems']} problems are left out, without a "
        "verdict in A or B"
    ]


def _differences(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    differing = [f"{key} {a[key]} and {b[key]}" for key in a if a[key] != b.get(key)]
    return [f"{name} was sampled with {', '.join(differing)}"] if differing else []
