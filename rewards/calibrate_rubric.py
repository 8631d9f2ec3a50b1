"""How far to trust a judge: `python -m rewards.calibrate_rubric LABELLED.jsonl`.

Each line is `{"response", "rubric": [...], "expected": {item id: "yes" | "no" |
"not_applicable"}}`, and perhaps `problem`. Judges every line with the judge of MGPO_JUDGE, and
prints the share of lines without a verdict, how often the judge's verdicts agree with the labels,
and what it cost.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewards import rubric
from rewards.types import Outcome

_AT_ONCE = 8


def main() -> int:
    """Judge the lines of the file and print the table."""
    parser = argparse.ArgumentParser(prog="python -m rewards.calibrate_rubric", description=__doc__)
    parser.add_argument("labelled", type=Path, help="JSONL file, one labelled response a line")
    path = parser.parse_args().labelled
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    outcomes = asyncio.run(_judge_all(rows))
    print("\n".join(report(rows, outcomes)))
    return 0


async def _judge_all(rows: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def judge(row: Mapping[str, Any]) -> Outcome:
        async with slots:
            reference = {"rubric": row["rubric"]}
            return await rubric.grade(row["response"], reference, problem=row.get("problem", ""))

    return list(await asyncio.gather(*map(judge, rows)))


def report(rows: Sequence[Mapping[str, Any]], outcomes: Sequence[Outcome]) -> list[str]:
    """Return the lines of the table."""
    pairs = [
        (row["expected"][item["id"]], item["verdict"])
        for row, outcome in zip(rows, outcomes, strict=True)
        if outcome.is_valid
        for item in outcome.detail.get("items", ())
    ]
    agreed = sum(expected == got for expected, got in pairs)
    generous = sum(got == "yes" != expected for expected, got in pairs)
    strict = sum(expected == "yes" != got for expected, got in pairs)
    reasons = Counter(outcome.reason for outcome in outcomes if not outcome.is_valid)
    num_errors = reasons.total()
    spent = [outcome.detail.get("judge", {}) for outcome in outcomes]
    lines = [
        f"responses          {len(rows)}",
        f"without a verdict  {num_errors} ({num_errors / max(1, len(rows)):.1%})"
        + "".join(f", {reason} {count}" for reason, count in reasons.most_common()),
        f"items judged       {len(pairs)}",
        f"agreement          {agreed} ({agreed / max(1, len(pairs)):.1%})",
        f"yes against label  {generous}",
        f"label yes, not got {strict}",
    ]
    for key in ("requests", "input_tokens", "output_tokens", "cost"):
        lines.append(f"{key:<18} {sum(each.get(key, 0) for each in spent):g}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
