"""Accuracy of the math reward on labelled sets, and its speed against math-verify in process.

python benchmarks/math_verifier.py --data FILE.jsonl [FILE.jsonl ...] [--differences N]

A file has one row a line: `gold` (or `reference`), `response`, and the verdict as `verdict_clean`,
`expected` or `verdict`; rows without verdict or gold are skipped. Files whose name contains gsm8k
are graded with `last_number`. Rows are graded by the deployed path, from a thread, in a process
that is killed at the limit; every difference is listed with what was extracted and why.

Speed: the same rows in groups of 16, each answer several times as in a group of samples, once
by `grade` and once by `math_verify.verify(parse(gold), parse(answer))`, in this process. The exit
code is 1 if a limit is missed.
"""

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.answers import FinalAnswer, extract
from rewards.killable_pool import KillablePool
from rewards.math_answer import decide_cheaply, grade
from rewards.types import Outcome, ScoreRequest

ROW_LIMIT_S = 5.0
ACCURACY_LIMITS = {"cases": 0.98}
DEFAULT_ACCURACY_LIMIT = 0.999
SPEED_LIMIT = 5.0
GROUP = 16
DISTINCT_IN_GROUP = 6
SPEED_ROWS = 800


@dataclass(frozen=True)
class Row:
    """A labelled response."""

    name: str
    gold: str
    response: str
    expected: bool
    kind: str


def main() -> int:
    """Print accuracy and speed; exit code 1 if a limit is missed."""
    args = _parse_args()
    is_met = True
    all_rows: list[Row] = []
    for path in args.data:
        rows = list(_rows(path))
        is_met &= _accuracy(path, rows, args.differences)
        if "gsm8k" not in path.name and "cases" not in path.name:
            all_rows += rows
    if all_rows:
        is_met &= _speed(all_rows)
    return 0 if is_met else 1


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--differences", type=int, default=1000, help="how many to list")
    return parser.parse_args()


def _rows(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        verdict = next(
            (row[key] for key in ("verdict_clean", "expected", "verdict") if key in row), None
        )
        gold = row.get("gold", row.get("reference"))
        if verdict is not None and gold is not None:
            yield Row(str(row.get("id", "")), gold, row["response"], verdict, row.get("kind", ""))


def _accuracy(path: Path, rows: list[Row], num_shown: int) -> bool:
    fields = {"last_number": True} if "gsm8k" in path.name else {}
    requests = [
        ScoreRequest(reward="math", response=row.response, reference=row.gold, fields=fields)
        for row in rows
    ]
    pool = KillablePool(num_processes=1, timeout_s=ROW_LIMIT_S, correct_threshold=1.0)
    with ThreadPoolExecutor(1) as threads:
        outcomes = threads.submit(
            lambda: [pool.submit(request).result() for request in requests]
        ).result()
    pool.close()
    differ = [
        (row, outcome)
        for row, outcome in zip(rows, outcomes, strict=True)
        if outcome.word != ("correct" if row.expected else "wrong")
    ]
    for row, outcome in differ[:num_shown]:
        _show(row, outcome)
    accuracy = 1 - len(differ) / max(1, len(rows))
    limit = next(
        (v for key, v in ACCURACY_LIMITS.items() if key in path.name), DEFAULT_ACCURACY_LIMIT
    )
    false_positives = sum(outcome.correct for _, outcome in differ)
    errors = sum(not outcome.is_valid for outcome in outcomes)
    slowest = max((outcome.time_s for outcome in outcomes), default=0.0)
    is_met = accuracy >= limit and slowest <= ROW_LIMIT_S
    print(
        f"{path.stem}: {accuracy:.2%} of {len(rows)} rows over the limit of {limit:.1%} "
        f"({len(differ) - false_positives} false negatives and errors, {false_positives} false "
        f"positives, {errors} errors), slowest row {slowest:.3f} s: "
        f"{'met' if is_met else 'MISSED'}",
        flush=True,
    )
    return is_met


def _show(row: Row, outcome: Outcome) -> None:
    print(
        f"  {row.name} {row.kind}: gold {row.gold!r:.90}, expected "
        f"{'correct' if row.expected else 'wrong'}, got {outcome.word} "
        f"({outcome.reason}, {dict(outcome.detail)!r:.200})"
    )


def _groups(rows: list[Row]) -> list[tuple[str, str]]:
    """Return (gold, response) pairs as training sees them: 16 to a gold, answers repeated."""
    source = random.Random(0)
    by_gold: dict[str, list[str]] = {}
    for row in rows:
        by_gold.setdefault(row.gold, []).append(row.response)
    golds = source.sample(sorted(by_gold), min(len(by_gold), SPEED_ROWS // GROUP))
    pairs = []
    for gold in golds:
        own = source.sample(by_gold[gold], min(len(by_gold[gold]), DISTINCT_IN_GROUP - 2))
        foreign = [source.choice(rows).response for _ in range(2)]
        pairs += [(gold, source.choice(own + foreign)) for _ in range(GROUP)]
    return pairs


def _speed(rows: list[Row]) -> bool:
    import math_verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    pairs = _groups(rows)
    answers = [extract(response) for _, response in pairs]
    grade(r"\boxed{\sin x}", r"\cos x")  # pays for the imports

    started = time.perf_counter()
    for gold, response in pairs:
        grade(response, gold)
    ours = len(pairs) / (time.perf_counter() - started)
    num_cheap = sum(decide_cheaply(response, gold) is not None for gold, response in pairs)

    started = time.perf_counter()
    for (gold, _), answer in zip(pairs, answers, strict=True):
        text = answer.text if isinstance(answer, FinalAnswer) else ""
        _peer(math_verify, gold, text)
    theirs = len(pairs) / (time.perf_counter() - started)
    is_met = ours >= SPEED_LIMIT * theirs
    print(
        f"speed: {ours:,.0f} graded answers a second and core (extraction included), math-verify "
        f"{theirs:,.0f} (answers given): ratio {ours / theirs:.1f} over the limit of "
        f"{SPEED_LIMIT:.0f}: {'met' if is_met else 'MISSED'}; {len(pairs)} answers in groups of "
        f"{GROUP}, {num_cheap / len(pairs):.1%} decided without the child"
    )
    return is_met


def _peer(math_verify: Any, gold: str, answer: str) -> bool:
    return bool(
        math_verify.verify(math_verify.parse(f"${gold}$"), math_verify.parse(f"${answer}$"))
    )


if __name__ == "__main__":
    sys.exit(main())
