"""How published evaluation sets are laid out: from a row of theirs to a problem of ours."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mgpo.data import program_formats


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A row of an evaluation set, before its prompt template."""

    id: str
    prompt: str
    reference: Any
    fields: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""
    """Day of publication, YYYY-MM-DD; empty: not known."""
    number: int | None = None
    """Of the task, where the set numbers its tasks."""


Values = Mapping[str, Any]


def _ifeval(row: Values) -> Problem:
    """google/IFEval, allenai/IFBench_test: prompt, instruction_id_list, kwargs.

    The hub's copies give every instruction the keys of all, with nulls: those are left out.
    """
    pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
    constraints = [
        {"id": name, "kwargs": {key: v for key, v in kwargs.items() if v is not None}}
        for name, kwargs in pairs
    ]
    return Problem(id=str(row["key"]), prompt=row["prompt"], reference={"constraints": constraints})


def _choices(row: Values) -> Problem:
    """GPQA: `Question`, `Correct Answer`, `Incorrect Answer 1` to `3`, `Record ID`.

    The order of the options is a pure function of the record's id.
    """
    name = str(row["Record ID"])
    right = row["Correct Answer"].strip()
    options = [right, *(row[f"Incorrect Answer {number}"].strip() for number in (1, 2, 3))]
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    random.Random(seed).shuffle(options)
    lettered = dict(zip("ABCD", options, strict=True))
    shown = "\n".join(f"({letter}) {text}" for letter, text in lettered.items())
    return Problem(
        id=name,
        prompt=f"{row['Question'].strip()}\n\n{shown}",
        reference={"answer": "ABCD"[options.index(right)], "options": lettered},
    )


def _humaneval(row: Values) -> Problem:
    """HumanEval and EvalPlus's copy of it: prompt, test, entry_point.

    Helpers that a prompt defines before the function are in scope of the tests, too.
    """
    entry = row["entry_point"]
    return Problem(
        id=row["task_id"],
        prompt=f"Complete this function.\n\n```python\n{row['prompt'].rstrip()}\n```",
        reference={
            "kind": "assert",
            "entry_point": entry,
            "setup": program_formats.before_function(row["prompt"], entry),
            "tests": [f"{row['test']}\ncheck({entry})"],
        },
    )


def _mbpp(row: Values) -> Problem:
    """MBPP: text (or prompt), test_list, test_setup_code (or test_imports)."""
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports") or ())
    tests = list(row["test_list"])
    text = row.get("text") or row["prompt"]
    shown = "\n".join(tests)
    return Problem(
        id=f"mbpp-{row['task_id']}",
        prompt=f"{text.strip()}\n\nYour code should pass these tests:\n\n```python\n{shown}\n```",
        reference={"kind": "assert", "setup": setup, "tests": tests},
        number=int(row["task_id"]),
    )


def _mbpp_plus(row: Values) -> Problem:
    """EvalPlus's release of MBPP+: prompt, entry_point, canonical_solution, base and plus input."""
    return Problem(
        id=row["task_id"],
        prompt=row["prompt"].strip().strip('"').strip(),
        reference={
            "kind": "assert",
            "entry_point": row["entry_point"],
            "setup": program_formats.comparing_setup(row["canonical_solution"]),
            "tests": [
                program_formats.comparing_test(
                    row["entry_point"],
                    [*_decoded(row["base_input"]), *_decoded(row["plus_input"])],
                )
            ],
        },
    )


def _leetcode(row: Values) -> Problem:
    """newfacade/LeetCodeDataset: problem_description, starter_code, prompt (the names that are in
    scope), test, entry_point; and `contest`, if there is one."""
    extra = {"contest": str(row["contest"])} if row.get("contest") is not None else {}
    starter = row["starter_code"].rstrip()
    return Problem(
        id=str(row["task_id"]),
        prompt=f"{row['problem_description'].strip()}\n\nComplete this class.\n\n"
        f"```python\n{starter}\n```",
        reference={
            "kind": "assert",
            "entry_point": row["entry_point"],
            "setup": row["prompt"],
            "tests": [f"{row['test']}\ncheck({row['entry_point']})"],
        },
        fields=extra,
        date=str(row.get("estimated_date") or "")[:10],
    )


def _livecodebench(row: Values) -> Problem:
    """livecodebench/code_generation(_lite): the files of its releases."""
    tests = [
        *json.loads(row["public_test_cases"]),
        *program_formats.private_tests(row["private_test_cases"]),
    ]
    starter = row["starter_code"].rstrip()
    if starter:
        ask = f"Complete this class, in one ```python block.\n\n```python\n{starter}\n```"
        reference = program_formats.method_tests(json.loads(row["metadata"])["func_name"], tests)
    else:
        ask = (
            "Write a Python program that reads from standard input and writes to standard output, "
            "in one ```python block."
        )
        reference = program_formats.stdin_tests(tests)
    return Problem(
        id=str(row["question_id"]),
        prompt=f"{row['question_content'].strip()}\n\n{ask}",
        reference=reference,
        date=str(row["contest_date"])[:10],
    )


def _stdin(row: Values) -> Problem:
    """Programs from input to output: id, prompt, tests [{input, output}], and language or
    checker_code, if there is one."""
    options = {key: row[key] for key in ("language", "checker_code") if row.get(key)}
    return Problem(
        id=str(row["id"]),
        prompt=row["prompt"],
        reference={**program_formats.stdin_tests(row["tests"]), **options},
    )


def _decoded(value: Any) -> Sequence[Any]:
    """Return a list that some copies of a set hold as a text."""
    decoded: Sequence[Any] = json.loads(value) if isinstance(value, str) else value
    return decoded


FORMATS: Mapping[str, Callable[[Values], Problem]] = {
    "ifeval": _ifeval,
    "choices": _choices,
    "humaneval": _humaneval,
    "mbpp": _mbpp,
    "mbpp_plus": _mbpp_plus,
    "leetcode": _leetcode,
    "livecodebench": _livecodebench,
    "stdin": _stdin,
}
"""Name of a layout in a benchmark's file -> what reads one of its rows. Raise KeyError for a column
that is missing, and TypeError, AttributeError or ValueError for one with another content."""
