"""The two sides of an assert test: the program serves, the test's text runs and judges."""

import ast
import builtins
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from sandbox import leetcode, programs, values
from sandbox.remote import (
    ON_TESTS_SIDE,
    OPERATIONS,
    Gone,
    Link,
    TooSlow,
    is_remote,
    own_classes,
)

_VERDICT = 3  # descriptor on the tests' side; the two pipes follow
# Whose fault an exception is that nobody catches.
_TEXT, _PROGRAM = "text", "program"


def serve_program(code: str) -> NoReturn:
    """Run a program, then do what the tests ask of it until they have ended."""
    link = Link(3, 4)
    try:
        main = programs.run(code)
        link.names = main.__dict__

        def share_classes(names: Sequence[str]) -> list[str]:
            link.records = {n: kind for n, kind in own_classes(main.__dict__) if n in names}
            return list(link.records)

        link.operations = {**OPERATIONS, "share_classes": share_classes}
        link.serve()
    except BaseException as error:
        programs.end(error)
    os._exit(0)


def run_test(test: str, setup: str, entry_point: str | None, longest_wait_s: float) -> NoReturn:
    """Run a test's text against the program on the other side and write the verdict as a frame.

    A failed assert is WA, any other exception RE; GONE when the program ended, SE when the text
    cannot be run at all.
    """
    link = Link(4, 5, longest_wait_s=longest_wait_s)
    link.operations = ON_TESTS_SIDE
    phase = _TEXT
    verdict, detail = "AC", ""
    try:
        tree = ast.parse(setup + "\n" + test)
        needs_program = bool(_foreign(ast.parse(setup), entry_point))
        phase = _PROGRAM
        names = _fetched_names(link, tree, entry_point)
        phase = _PROGRAM if needs_program else _TEXT
        main = programs.run(setup, names)
        phase = _PROGRAM
        classes = dict(own_classes(main.__dict__))
        shared = link.ask("share_classes", [*classes])
        link.records = {name: classes[name] for name in shared}
        exec(programs.compiled(test), main.__dict__)
    except Gone:
        verdict = "GONE"
    except TooSlow:
        verdict, detail = "TLE", "by wall time"
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"[:500]
        if phase == _TEXT:
            verdict, detail = "SE", f"the test's text: {text}"
        elif isinstance(error, AssertionError) and not is_remote(error):
            verdict, detail = "WA", text
        else:
            verdict, detail = "RE", text
    _write_verdict(verdict, detail)
    os._exit(0)


def _write_verdict(verdict: str, detail: str) -> None:
    data = values.encode([verdict, detail]).encode()
    while data:
        data = data[os.write(_VERDICT, data) :]


def _fetched_names(link: Link, tree: ast.Module, entry_point: str | None) -> dict[str, Any]:
    """Look up the program's names that setup and test use and do not bind.

    Python's own names are the tests' own, whatever the program calls so, but for the entry point;
    or, when that is not given and the test uses no other name of the program, for those too.
    """
    used = _free_names(tree)
    found = _look_up(link, _foreign(tree, entry_point))
    if not found and not entry_point:
        found = _look_up(link, used)
    # A program that imports math or Counter lends the tests that name, not its contents.
    known = {name: leetcode.prelude()[name] for name in used if name in leetcode.prelude()}
    return known | found


def _foreign(tree: ast.Module, entry_point: str | None) -> list[str]:
    """List the free names of a text that only the program can bind."""
    own = set(vars(builtins)) | set(leetcode.prelude()) | set(sys.stdlib_module_names)
    entry = (entry_point or "").split(".")[0].removesuffix("()")
    return [name for name in _free_names(tree) if name not in own or name == entry]


def _look_up(link: Link, wanted: Iterable[str]) -> dict[str, Any]:
    found = {}
    for name in wanted:
        answer = link.ask("name", name)
        if answer:
            found[name] = answer[0]
    return found


def _free_names(tree: ast.Module) -> list[str]:
    """List the names that a text reads and nowhere binds."""
    bound: set[str] = set()
    read: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read[node.id] = None
            else:
                bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
    return [name for name in read if name not in bound]
