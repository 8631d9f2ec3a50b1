"""Accuracy of the stem reward on labelled sets.

python benchmarks/stem_verifier.py --data FILE.jsonl [FILE.jsonl ...]

A file has one row a line: `response`, `expected`, and either `reference` as the reward takes it or
`gold` with `options` or without. Rows are graded by the deployed path, from a thread, in a process
that is killed at the limit; every difference is listed. The exit code is 1 if a limit is missed.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rewards.killable_pool import KillablePool
from rewards.types import Outcome, ScoreRequest

ACCURACY_LIMIT = 0.97
ROW_LIMIT_S = 5.0


def main() -> int:
    """Print accuracy and differences; exit code 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    num_missed = sum(not _is_met(path) for path in parser.parse_args().data)
    return 1 if num_missed else 0


def _is_met(path: Path) -> bool:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    outcomes = _grade(rows)
    differ = [
        (row, outcome)
        for row, outcome in zip(rows, outcomes, strict=True)
        if outcome.word != ("correct" if row["expected"] else "wrong")
    ]
    for row, outcome in differ:
        print(
            f"  {row.get('id', '')} {row.get('kind', '')}: {_reference(row)!r:.160}, response "
            f"{row['response']!r:.160}, expected {row['expected']}, got {outcome.word} "
            f"({outcome.reason}, {dict(outcome.detail)!r:.200})"
        )
    accuracy = 1 - len(differ) / max(1, len(rows))
    num_false_positives = sum(outcome.correct for _, outcome in differ)
    slowest = max((outcome.time_s for outcome in outcomes), default=0.0)
    is_met = bool(rows) and accuracy >= ACCURACY_LIMIT and slowest <= ROW_LIMIT_S
    print(
        f"{path.stem}: {accuracy:.2%} of {len(rows)} rows over the limit of {ACCURACY_LIMIT:.0%} "
        f"({len(differ) - num_false_positives} false negatives and errors, {num_false_positives} "
        f"false positives), slowest row {slowest:.3f} s: {'met' if is_met else 'MISSED'}"
    )
    return is_met


def _grade(rows: list[dict[str, Any]]) -> list[Outcome]:
    requests = [
        ScoreRequest(reward="stem", response=row["response"], reference=_reference(row))
        for row in rows
    ]
    pool = KillablePool(num_processes=1, timeout_s=ROW_LIMIT_S, correct_threshold=1.0)
    with ThreadPoolExecutor(1) as threads:
        outcomes = threads.submit(
            lambda: [pool.submit(request).result() for request in requests]
        ).result()
    pool.close()
    return outcomes


def _reference(row: dict[str, Any]) -> Any:
    if "reference" in row:
        return row["reference"]
    names = ("options", "unit", "tolerance")
    return {"answer": row["gold"]} | {name: row[name] for name in names if name in row}


if __name__ == "__main__":
    sys.exit(main())
