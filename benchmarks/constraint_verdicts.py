"""The constraints reward against labelled cases and the verdicts of the official code.

python benchmarks/constraint_verdicts.py --data DIR [--show-default]

DIR holds any of these, one JSON object a line:
  constraint_cases.jsonl           instruction_id, kwargs, response, expected (and official)
  ifeval_official_verdicts.jsonl   instruction_id_list, kwargs, response, strict_verdicts,
  ifbench_official_verdicts.jsonl  loose_verdicts (null: not scored)

Cases are graded in the default mode, of which all must agree, and where they have an `official`
verdict also in `compat`; verdicts in `compat`, strict and loose, of which 99.5 % of the
instructions must agree. Each line ends with the ratio to its limit; the exit code is 1 when one is
below 1. Every difference is listed with who is right: in `compat` the official code by definition,
among the cases the label. --show-default counts, per id, where the default mode and the official
code part on the same responses: these are the repaired faults, not errors.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewards.constraints.reward import CATALOGUES, grade

PARITY = 0.995
_HEAD_CHARS = 160


def main() -> int:
    """Compares all files that are there; exit code 1 if a figure misses its limit."""
    args = _parse_args()
    figures = list(_figures(args.data))
    if not figures:
        print(f"none of the files is in {args.data}; --help names them", file=sys.stderr)
        return 2
    for figure in figures:
        figure.print()
    if args.show_default:
        _print_default(args.data)
    return int(any(figure.ratio < 1 for figure in figures))


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the files")
    parser.add_argument("--show-default", action="store_true")
    return parser.parse_args()


@dataclass(slots=True)
class Figure:
    """How many verdicts agree, of how many, and where they don't."""

    name: str
    limit: float
    right: str
    num_all: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, where: str, expected: bool, got: bool | None) -> None:
        """Count one verdict; None is an error of the grader."""
        self.num_all += 1
        if expected != got:
            self.differences.append(f"{where}: {self.right} {expected}, ours {got}")

    @property
    def ratio(self) -> float:
        """The share that agrees, to the share that must."""
        agree = self.num_all - len(self.differences)
        return agree / max(1, self.num_all) / self.limit

    def print(self) -> None:
        """Print the figure over its limit, then each difference."""
        agree = self.num_all - len(self.differences)
        share = agree / max(1, self.num_all)
        print(
            f"{self.name}: {agree} of {self.num_all} = {share:.4%} "
            f"over {self.limit:.1%} = {self.ratio:.4f}"
        )
        for difference in self.differences:
            print(f"  {difference}; right: {self.right}")


def _figures(data: Path) -> Iterator[Figure]:
    if (data / "constraint_cases.jsonl").exists():
        yield from _case_figures(_rows(data / "constraint_cases.jsonl"))
    for compat in ("ifeval", "ifbench"):
        path = data / f"{compat}_official_verdicts.jsonl"
        if path.exists():
            for strict in (True, False):
                yield _parity(path, compat, strict)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _case_figures(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    default = Figure("cases, default mode", 1.0, "label")
    official = Figure("cases, compat", PARITY, "official")
    for row in rows:
        one = {"instruction_id_list": [row["instruction_id"]], "kwargs": [row["kwargs"]]}
        where = f"{row['id']} {row['instruction_id']} {_head(row['response'])}"
        default.add(where, row["expected"], _verdicts({**row, **one})[0])
        if "official" in row:
            compat = "ifeval" if row["instruction_id"] in CATALOGUES["ifeval"] else "ifbench"
            official.add(where, row["official"], _verdicts({**row, **one}, compat=compat)[0])
    yield default
    yield official


def _parity(path: Path, compat: str, strict: bool) -> Figure:
    name = "strict" if strict else "loose"
    figure = Figure(f"{compat}, compat, {name}", PARITY, "official")
    for row in _rows(path):
        ours = _verdicts(row, compat=compat, strict=strict)
        for index, expected in enumerate(row[f"{name}_verdicts"]):
            if expected is not None:
                figure.add(_where(row, index), expected, ours[index])
    return figure


def _where(row: Mapping[str, Any], index: int) -> str:
    return (
        f"{row['key']} {row['variant']} {row['instruction_id_list'][index]} "
        f"{_head(row['response'])}"
    )


def _head(response: str) -> str:
    return repr(response[:_HEAD_CHARS])


def _verdicts(row: Mapping[str, Any], **fields: Any) -> list[bool | None]:
    """Return a verdict per instruction; None for all where the grader has none."""
    pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
    constraints = [{"id": name, "kwargs": kwargs} for name, kwargs in pairs]
    outcome = grade(row["response"], {"constraints": constraints}, **fields)
    if not outcome.is_valid:
        print(f"  no verdict: {outcome.reason} {dict(outcome.detail)}")
        return [None] * len(constraints)
    return list(outcome.detail["verdicts"])


def _print_default(data: Path) -> None:
    """Print how often the default mode is stricter or milder than the official code."""
    for compat in ("ifeval", "ifbench"):
        path = data / f"{compat}_official_verdicts.jsonl"
        counts: Counter[tuple[str, str]] = Counter()
        for row in _rows(path) if path.exists() else []:
            ours = _verdicts(row)
            for index, name in enumerate(row["instruction_id_list"]):
                official = row["strict_verdicts"][index]
                if official is not None and official != ours[index]:
                    counts[name, "milder" if ours[index] else "stricter"] += 1
        for (name, kind), number in sorted(counts.items()):
            print(f"{compat}, default mode, strict: {name} {kind} {number} times")


if __name__ == "__main__":
    sys.exit(main())
