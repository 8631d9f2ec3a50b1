"""Tests of programs, as evaluation sets give them, in the layout that the `code` reward reads."""

import ast
import base64
import io
import json
import pickle
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

_COMPARE = """
import copy
def outcome(function, arguments):
    try:
        return "value", function(*arguments)
    except Exception as error:
        return "raised", type(error).__name__
def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b or abs(a - b) <= 1e-6 * max(1, abs(b))
    if type(a) in (list, tuple) and type(b) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
def both_matched(a, b):
    return a[0] == b[0] and (a[1] is None) == (b[1] is None)
space = {{}}
exec({code!r}, space)
"""
_MATCHERS = ("check_str", "text_match_three", "text_starta_endb")
"""Of these the answer is a match object or None; EvalPlus, too, asks only which of them."""


def before_function(program: str, name: str) -> str:
    """Return the text before the top-level function of that name: imports and helpers."""
    for node in ast.parse(program).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return "".join(program.splitlines(keepends=True)[: node.lineno - 1])
    raise ValueError(f"no top-level function {name}")


def comparing_setup(reference: str) -> str:
    """Return the tests' side of MBPP+: a trusted program to compare answers with."""
    return _COMPARE.format(code=reference)


def comparing_test(name: str, inputs: Sequence[Any]) -> str:
    """Return a test that calls both programs on each list of arguments."""
    same = "both_matched" if name in _MATCHERS else "same"
    return (
        f"for arguments in {inputs!r}:\n"
        f"    want = outcome(space[{name!r}], copy.deepcopy(arguments))\n"
        f"    got = outcome({name}, arguments)\n"
        f"    assert {same}(got, want), f'{{arguments}}: {{got}} for {{want}}'[:300]\n"
    )


def stdin_tests(tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a reference for a program from standard input to standard output."""
    return {
        "kind": "stdin",
        "tests": [{"input": test["input"], "output": test["output"]} for test in tests],
    }


def method_tests(name: str, tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a reference for a method of `Solution`; arguments are JSON, one a line."""
    return {
        "kind": "function",
        "entry_point": f"Solution.{name}",
        "tests": [
            {
                "input": [json.loads(line) for line in test["input"].split("\n") if line.strip()],
                "output": json.loads(test["output"]),
            }
            for test in tests
        ],
    }


class _TextUnpickler(pickle.Unpickler):
    """Reads texts; whatever a pickle would have imported or called is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"a test may not name {module}.{name}")


def private_tests(text: str) -> list[dict[str, Any]]:
    """Return LiveCodeBench's private tests: JSON, or base64 of zlib of a pickled JSON text.

    Raises ValueError for anything else.
    """
    try:
        tests = json.loads(text)
    except ValueError:
        try:
            packed = zlib.decompress(base64.b64decode(text))
            tests = json.loads(_TextUnpickler(io.BytesIO(packed)).load())
        except (zlib.error, pickle.UnpicklingError, EOFError, TypeError) as error:
            raise ValueError(f"private_test_cases cannot be read: {error}") from error
    return list(tests)
