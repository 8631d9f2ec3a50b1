"""The two sides of an assert test: the program serves, the test's text runs and judges."""

import ast
import builtins
import os
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from sandbox import leetcode, programs, values
from sandbox.foreign import is_remote, own_classes
from sandbox.protocol import RESULT, write_result
from sandbox.remote import (
    ON_TESTS_SIDE,
    OPERATIONS,
    Gone,
    Link,
    TooSlow,
)

# Whose fault an exception is that nobody catches.
_TEXT, _PROGRAM = "text", "program"


def serve_program(code: str) -> NoReturn:
    """Run a program, then do what the tests ask of it until they have ended."""
    link = Link(3, 4, trusts_other_side=True)
    try:
        main = programs.run(code, is_script=False)
        link.names = main.__dict__
        link.operations = OPERATIONS
        link.serve()
    except BaseException as error:
        programs.end(error)
    os._exit(0)


def run_test(test: str, setup: str, entry_point: str | None, longest_wait_s: float) -> NoReturn:
    """Run a test's text against the program on the other side and write the verdict as a frame.

    A failed assert is WA, any other exception RE; GONE when the program ended, SE when the text
    cannot be run at all.
    """
    link = Link(RESULT + 1, RESULT + 2, trusts_other_side=False, longest_wait_s=longest_wait_s)
    link.operations = ON_TESTS_SIDE
    phase = _TEXT
    verdict, detail = "AC", ""
    try:
        used, used_by_setup = free_names(f"{setup}\n{test}"), free_names(setup)
        phase = _PROGRAM
        names = _fetched_names(link, used, used_by_setup, entry_point)
        names |= _look_up(link, subjects(test), "defined")
        phase = _PROGRAM if _foreign(used_by_setup, entry_point) else _TEXT
        main = programs.run(setup, names, is_script=False)
        phase = _PROGRAM
        classes = dict(own_classes(main.__dict__))
        shared = link.ask("share_classes", "", [*classes])
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
    write_result(values.encode([verdict, detail]).encode())
    os._exit(0)


def _fetched_names(
    link: Link, used: Sequence[str], used_by_setup: Sequence[str], entry_point: str | None
) -> dict[str, Any]:
    """Look up the names that the texts use and do not bind.

    Python's own names are the tests' own, whatever the program calls so, but for the entry point;
    or, when that is not given and the test uses no other name of the program, for those too.
    """
    found = _look_up(link, _foreign(used, entry_point))
    if not found and not entry_point:
        found = _look_up(link, [name for name in used if name not in used_by_setup])
    # A program that imports math or Counter lends the tests that name, not its contents.
    return {name: value for name in used if (value := _own_value(name)) is not None} | found


def _foreign(used: Sequence[str], entry_point: str | None) -> list[str]:
    """Pick the names that only the program can bind."""
    own = set(vars(builtins)) | set(leetcode.prelude()) | sys.stdlib_module_names
    entry = (entry_point or "").split(".")[0].removesuffix("()")
    return [name for name in used if name not in own or name == entry]


def _own_value(name: str) -> Any:
    if name in sys.stdlib_module_names and name in sys.modules:
        return sys.modules[name]
    if name == "np":
        return sys.modules.get("numpy")
    return leetcode.prelude().get(name)


def subjects(test: str) -> list[str]:
    """List names of Python's own that can only mean the program's: in an assert with no other name.

    `assert factorial(5) == 120` is about the program's factorial, if it defines one, whereas in
    `assert isclose(f(1), 0.5)` a name of Python's own judges the program, and stays Python's.
    """
    found: dict[str, None] = {}
    for statement in ast.walk(ast.parse(test)):
        if not isinstance(statement, ast.Assert):
            continue
        nodes = list(ast.walk(statement.test))
        names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
        owners = {
            node.value.id
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        if not _foreign([*names], None) and not owners:
            found |= dict.fromkeys(name for name in names if name not in vars(builtins))
    return [*found]


def _look_up(link: Link, wanted: Iterable[str], operation: str = "name") -> dict[str, Any]:
    found = {}
    for name in wanted:
        answer = link.ask(operation, name)
        if answer:
            found[name] = answer[0]
    return found


def free_names(text: str) -> list[str]:
    """List the global names that a text reads and does not bind. Raises SyntaxError."""
    top = symtable.symtable(text, programs.FILE_NAME, "exec")
    bound = {
        symbol.get_name()
        for table in _tables(top)
        for symbol in table.get_symbols()
        if (symbol.is_assigned() or symbol.is_imported())
        and (table is top or symbol.is_declared_global())
    }
    read = dict.fromkeys(
        symbol.get_name()
        for table in _tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (table is top or symbol.is_global())
    )
    return [name for name in read if name not in bound]


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)
