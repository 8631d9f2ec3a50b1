"""Makes the model and the rows of all four domains for the tiny pipeline, a pure function of a
seed.

python experiments/tiny/prepare_domains.py --output runs/tiny
"""

import argparse
import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from arithmetic import DIFFICULTIES, Problem, draw_problem
from choices import DRAWS
from instructions import draw_instruction
from prepare import make_model, make_tokenizer
from programs import draw_program
from tasks import Draw, Task, distinct, task_rows, traced_rows, write_rows

DOMAINS = ("math", "code", "stem", "instruct")
NUM_TRAINED = {"math": 1500, "code": 600, "stem": 600, "instruct": 600}
"""Prompts for reinforcement learning."""
NUM_TRACED = {"math": 4000, "code": 2500, "stem": 2000, "instruct": 3000}
"""Tasks with worked answers."""
NUM_PROBED, NUM_HELD_OUT = 60, 160
_KIND_OF_DIFFICULTY = {1: "sums", 2: "sums", 3: "sums", 4: "sums", 5: "chains"}


def main() -> None:
    """Writes `model/` and, for each domain, train, probe and heldout rows; `sft.jsonl` for all."""
    args = _parse_args()
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(args.output / "model")
    make_model(tokenizer, args.seed).save_pretrained(args.output / "model")
    worked = []
    for domain, draws in _draws().items():
        tasks = distinct(draws, random.Random(f"{domain}|{args.seed}"))
        for name, count in (
            ("heldout", NUM_HELD_OUT),
            ("probe", NUM_PROBED),
            ("train", NUM_TRAINED[domain]),
        ):
            rows = task_rows(tasks, f"{domain}-{name}", count // args.shrink)
            write_rows(args.output / f"{name}_{domain}.jsonl", rows)
        worked += traced_rows(tasks, domain, NUM_TRACED[domain] // args.shrink)
    write_rows(args.output / "sft.jsonl", worked)


def _draws() -> Mapping[str, Sequence[Draw]]:
    return {
        "math": [partial(_arithmetic_task, difficulty=each) for each in DIFFICULTIES],
        "code": [
            partial(draw_program, kind=kind) for kind in ("one step", "two steps", "three steps")
        ],
        "stem": list(DRAWS.values()),
        "instruct": [partial(draw_instruction, num_constraints=count) for count in (2, 3, 4)],
    }


def _arithmetic_task(rng: random.Random, difficulty: int) -> Task:
    problem = draw_problem(rng, difficulty)
    return Task(
        prompt=problem.prompt,
        domain="math",
        kind=_KIND_OF_DIFFICULTY[difficulty],
        difficulty=difficulty,
        reference=problem.reference,
        traces=(problem.columns, _with_result(problem), _checked(problem)),
    )


def _with_result(problem: Problem) -> str:
    """The columns, and what they say once more."""
    working, _, box = problem.columns.rpartition("\n")
    return f"Columns: {working}\nSo it is {problem.reference}.\n{box}"


def _checked(problem: Problem) -> str:
    """The columns, twice."""
    working, _, box = problem.columns.rpartition("\n")
    return f"Columns: {working}\nCheck: {working}\nSo it is {problem.reference}.\n{box}"


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the tasks")
    parser.add_argument("--shrink", type=int, default=1, help="divides every number of rows")
    return parser.parse_args()


if __name__ == "__main__":
    main()
