"""Reference solutions of public data sets through the sandbox, and the same with one fault each.

python benchmarks/sandbox_datasets.py --data DIR [--sets humaneval mbpp ...] [--mutate] [--tier B]

DIR holds the data sets' own files, under their own names: HumanEval.jsonl.gz (openai/human-eval),
mbpp.jsonl and sanitized-mbpp.json (google-research), HumanEvalPlus-OriginFmt.jsonl.gz and
MbppPlus.jsonl.gz (evalplus), LeetCodeDataset-v0.3.1-test.jsonl.gz (newfacade/LeetCodeDataset).

Every reference must be AC: the line `accepted` is the ratio to that limit, and the exit code is 1
when it is missed. With --mutate each program has one operator, constant or condition changed, by a
seeded choice; what is still accepted is listed: a test that does not bite, or the same program in
other words.
"""

import argparse
import ast
import copy
import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mgpo.data.program_formats import comparing_setup, comparing_test
from sandbox.config import SandboxConfig
from sandbox.pool import Sandbox
from sandbox.types import Limits, Submission, Test

LIMITS = Limits(time_s=60.0, memory_mb=2048)
LIMITS_PLUS = Limits(time_s=240.0, memory_mb=4096)  # some answers have millions of elements
# Faults of the data sets themselves.
BROKEN = {
    "HumanEval/32": "its plus tests unpack a float",
    "Mbpp/255": "one of its answers takes a gigabyte, far more than a message may",
}


def main() -> int:
    """Judges the sets; exit code 1 if a reference solution is not accepted."""
    args = _parse_args()
    missed = 0
    config = SandboxConfig(tier=args.tier, num_workers=args.workers)
    with Sandbox(config) as sandbox:
        for name in args.sets:
            submissions = list(SETS[name](args.data))[: args.limit]
            if args.mutate:
                submissions = list(_mutants(submissions, args.seed))
            start = time.monotonic()
            judged = sandbox.judge(submissions)
            seconds = time.monotonic() - start
            verdicts = Counter(judgement.verdict for judgement in judged)
            odd = [j for j in judged if (j.verdict == "AC") == args.mutate and j.id not in BROKEN]
            print(
                f"{name}, tier {sandbox.report.tier}: accepted {verdicts['AC']}/{len(judged)} "
                f"{dict(verdicts)} in {seconds:.1f} s",
                flush=True,
            )
            for judgement in odd:
                worst = next((t for t in judgement.tests if t.verdict != "AC"), judgement.tests[0])
                said = f"{worst.detail[:200]} {worst.stderr_tail[-200:]!r}"
                print(f"  {judgement.id}: {judgement.verdict} {said}")
            missed += 0 if args.mutate else len(odd)
    return 1 if missed else 0


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the files")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--mutate", action="store_true", help="change one thing in each program")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    parser.add_argument("--limit", type=int, default=None, help="programs of each set")
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--workers", type=int, default=0)
    return parser.parse_args()


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    yield from map(json.loads, text.splitlines())


def _humaneval(folder: Path, name: str = "HumanEval.jsonl.gz") -> Iterator[Submission]:
    entries = {r["task_id"]: r["entry_point"] for r in _lines(folder / "HumanEval.jsonl.gz")}
    for row in _lines(folder / name):
        entry = entries[row["task_id"]]
        yield Submission(
            id=row["task_id"],
            kind="assert",
            code=row["prompt"] + row["canonical_solution"],
            tests=[Test(source=f"{row['test']}\ncheck({entry})")],
            entry_point=entry,
            limits=LIMITS,
        )


def _humaneval_plus(folder: Path) -> Iterator[Submission]:
    return _humaneval(folder, "HumanEvalPlus-OriginFmt.jsonl.gz")


def _mbpp(folder: Path) -> Iterator[Submission]:
    for row in _lines(folder / "mbpp.jsonl"):
        yield Submission(
            id=f"mbpp/{row['task_id']}",
            kind="assert",
            code=row["code"],
            setup=row["test_setup_code"],
            tests=[Test(source=source) for source in row["test_list"]],
            limits=LIMITS,
        )


def _mbpp_sanitized(folder: Path) -> Iterator[Submission]:
    for row in json.loads((folder / "sanitized-mbpp.json").read_text()):
        yield Submission(
            id=f"sanitized/{row['task_id']}",
            kind="assert",
            code=row["code"],
            setup="\n".join(row["test_imports"]),
            tests=[Test(source=source) for source in row["test_list"]],
            limits=LIMITS,
        )


def _mbpp_plus(folder: Path) -> Iterator[Submission]:
    """Outputs are compared with those of the reference, which the tests' side runs itself."""
    for row in _lines(folder / "MbppPlus.jsonl.gz"):
        entry = row["entry_point"]
        inputs = [*row["base_input"], *row["plus_input"]]
        yield Submission(
            id=row["task_id"],
            kind="assert",
            code=row["canonical_solution"],
            setup=comparing_setup(row["canonical_solution"]),
            tests=[Test(source=comparing_test(entry, inputs))],
            entry_point=entry,
            limits=LIMITS_PLUS,
        )


def _leetcode(folder: Path) -> Iterator[Submission]:
    for row in _lines(folder / "LeetCodeDataset-v0.3.1-test.jsonl.gz"):
        yield Submission(
            id=row["task_id"],
            kind="assert",
            code=row["prompt"] + "\n" + row["completion"],
            setup=row["prompt"],
            tests=[Test(source=f"{row['test']}\ncheck({row['entry_point']})")],
            entry_point=row["entry_point"],
            limits=replace(LIMITS, time_s=120.0),
        )


SETS: Mapping[str, Callable[[Path], Iterator[Submission]]] = {
    "humaneval": _humaneval,
    "mbpp": _mbpp,
    "mbpp_sanitized": _mbpp_sanitized,
    "humaneval_plus": _humaneval_plus,
    "mbpp_plus": _mbpp_plus,
    "leetcode": _leetcode,
}


# ---- faults


def _mutants(submissions: list[Submission], seed: int) -> Iterator[Submission]:
    for submission in submissions:
        choice = random.Random(f"{seed} {submission.id}")
        code = _mutated(submission.code, choice, submission.entry_point)
        if code is not None:
            yield replace(submission, code=code, limits=replace(submission.limits, time_s=10.0))


def _mutated(code: str, choice: random.Random, entry_point: str | None) -> str | None:
    """Change one operator, constant or condition in the function that is called."""
    tree = ast.parse(code)
    name = (entry_point or "").split("().")[-1]
    roots = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    places = [
        node
        for root in (roots or [tree])
        for node in ast.walk(root)
        if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp | ast.If | ast.While)
        or (isinstance(node, ast.Constant) and type(node.value) is int)
    ]
    if not places:
        return None
    _change(choice.choice(places), choice)
    return ast.unparse(ast.fix_missing_locations(tree))


def _change(node: ast.AST, choice: random.Random) -> None:
    if isinstance(node, ast.Constant):
        node.value += choice.choice((-1, 1))
    elif isinstance(node, ast.BinOp):
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif isinstance(node, ast.Compare):
        other = {
            ast.Lt: ast.GtE,
            ast.GtE: ast.Lt,
            ast.Gt: ast.LtE,
            ast.LtE: ast.Gt,
            ast.Eq: ast.NotEq,
        }
        node.ops[0] = other.get(type(node.ops[0]), ast.Eq)()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.While):
        node.test = ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))


if __name__ == "__main__":
    sys.exit(main())
