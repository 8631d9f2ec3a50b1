"""The `code` reward: the program in a response against tests, in the sandbox.

`reference` is a sandbox row without the program: `{"kind": "stdin", "tests": [{"input": ...,
"output": ...}], "time_limit_s": 2}`; docs/sandbox.md lists the fields.
"""

import ast
import atexit
import functools
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rewards.code_block import program_of
from rewards.options import read_options
from rewards.types import ALLOW_WEAK_SANDBOX, Outcome, error
from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import WeakSandboxError
from sandbox.languages import COMPILED, PYTHON
from sandbox.pool import Sandbox
from sandbox.types import Judgement, Submission

TOTAL_TIME_S = 30.0
"""CPU seconds of a program over all its tests, unless the row has `total_time_limit_s`."""
_OPTIONS = {"fraction": bool}

_SUM = {"kind": "stdin", "tests": [{"input": "2 3", "output": "5"}]}
_DOUBLE = {"kind": "function", "entry_point": "double", "tests": [{"input": [4], "output": 8}]}
_ASSERTED = {"kind": "assert", "entry_point": "double", "tests": ["assert double(4) == 8"]}
SELF_TEST = [
    ("```python\nprint(sum(map(int, input().split())))\n```", _SUM, True),
    ("```python\nprint(4)\n```", _SUM, False),
    ("```python\nwhile True: pass\n```", {**_SUM, "time_limit_s": 0.2}, False),
    ("The answer is 5.", _SUM, False),
    ("```python\ndef double(x):\n    return 2 * x\n```", _DOUBLE, True),
    ("```python\ndef double(x):\n    return x\n```", _DOUBLE, False),
    ("```python\ndef double(x):\n    return 2 * x\n```", _ASSERTED, True),
    ("```python\ndef double(x):\n    raise SystemExit(0)\n```", _ASSERTED, False),
]


def grade(response: str, reference: Any, **fields: Any) -> Outcome:
    """Judge the program in a response: correct when every test accepts it.

    With the option `fraction` the value is the share of tests that do, and the reward is graded. A
    fault of the sandbox, or a reference that is none, is an error. `detail` has the verdict, those
    of the tests, and what the first refused test saw.
    """
    try:
        fraction = read_options("code", fields, _OPTIONS).get("fraction", False)
        submission = _read_tests(reference)
    except ValueError as problem:
        return error("bad_reference", problem=str(problem))
    program = program_of(response, language=submission.language, entry_point=submission.entry_point)
    if program is None:
        return _outcome(False, 0.0, "no_answer", {}, fraction)
    submission = replace(submission, code=program, stop_on_fail=not fraction)
    try:
        [judgement] = _sandbox().judge([submission])
    except WeakSandboxError as problem:
        return error("weak_sandbox", problem=str(problem))
    return _from_judgement(judgement, fraction)


def check_reference(reference: Any, **fields: Any) -> None:
    """Raise ValueError, which names the field, for a reference that is no row of tests, for tests
    that are no Python, and for unsound options."""
    read_options("code", fields, _OPTIONS)
    _read_tests(reference)


def _read_tests(reference: Any) -> Submission:
    """Return the submission whose program is still to come. Raises ValueError."""
    if not isinstance(reference, Mapping):
        raise ValueError(
            f"the reference of code is an object with kind and tests, got {reference!r:.80}"
        )
    if "code" in reference:
        raise ValueError("the reference of code has tests, not code: that comes from the response")
    submission = Submission.from_row({"total_time_limit_s": TOTAL_TIME_S, **reference, "code": ""})
    if submission.language not in (PYTHON, *COMPILED):
        allowed = ", ".join((PYTHON, *COMPILED))
        raise ValueError(f"language {submission.language!r}: give one of {allowed}")
    texts = {f"test {n}": test.source for n, test in enumerate(submission.tests)}
    for name, text in {**texts, "checker_code": submission.checker_code}.items():
        _check_python(name, text)
    return submission


def _check_python(name: str, text: str | None) -> None:
    try:
        ast.parse(text or "")
    except (SyntaxError, ValueError) as problem:
        raise ValueError(f"{name} is no Python: {problem}") from None


def warm_up() -> None:
    """Start the sandbox, which takes a second or two, before the first deadline runs."""
    with suppress(WeakSandboxError):  # `grade` says it
        _sandbox()


@functools.cache
def _sandbox() -> Sandbox:
    """This process's own: one program at a time, as the process gets one request at a time."""
    is_weak_allowed = bool(os.environ.get(ALLOW_WEAK_SANDBOX))
    sandbox = Sandbox(SandboxConfig(num_workers=1, allow_weak_sandbox=is_weak_allowed))
    atexit.register(sandbox.close)
    return sandbox


def _from_judgement(judgement: Judgement, is_fraction: bool) -> Outcome:
    verdicts = [test.verdict for test in judgement.tests]
    refused = next((test for test in judgement.tests if test.verdict != "AC"), None)
    detail: dict[str, Any] = {
        "verdict": judgement.verdict,
        "verdicts": verdicts,
        "tier": judgement.tier,
    }
    if refused is not None:
        detail |= {
            "first_refused": judgement.tests.index(refused),
            "said": refused.detail,
            "stdout": refused.stdout_head[:300],
            "stderr": refused.stderr_tail[-300:],
        }
    if "SE" in verdicts:
        return error("sandbox", **detail)
    value = verdicts.count("AC") / len(verdicts) if is_fraction else float(refused is None)
    reason = "accepted" if refused is None else judgement.verdict.lower()
    return _outcome(refused is None, value, reason, detail, is_fraction)


def _outcome(
    is_correct: bool, value: float, reason: str, detail: Mapping[str, Any], is_graded: bool
) -> Outcome:
    return Outcome(
        status="ok",
        correct=is_correct,
        value=value,
        reason=reason,
        detail=detail,
        is_graded=is_graded,
    )
