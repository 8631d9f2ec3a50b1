"""What a confined child does: one function per kind of run. Each ends the process.

A function's keyword arguments are the payload. Descriptors from 3 on are its own.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from sandbox import assertions, leetcode, programs, values
from sandbox.protocol import write_result

_PROGRAM = 3  # descriptor of a compiled program


def prepare() -> None:
    """Make what children share, in the zygote."""
    leetcode.prepare()


def run_stdin(code: str, seed: int) -> NoReturn:
    """Run a program that reads stdin and writes stdout."""
    _seed(seed)
    error = None
    try:
        programs.run(code)
    except BaseException as raised:
        error = raised
    programs.end(error)


def run_function(
    code: str,
    entry_point: str,
    arguments: Sequence[Any],
    argument_types: Sequence[str | None],
    result_type: str | None,
    result_argument: int | None,
    seed: int,
) -> NoReturn:
    """Call one function of a program and write its result as one frame."""
    _seed(seed)
    error = None
    try:
        main = programs.run(code, leetcode.prelude(), is_script=False)
        given = leetcode.build(main, arguments, argument_types)
        result = _entry(main, entry_point)(*given)
        if result_argument is not None:
            result = given[result_argument]
        _write(values.encode(leetcode.flatten(result, result_type)))
    except BaseException as raised:
        error = raised
    programs.end(error)


def _entry(main: Any, entry_point: str) -> Callable[..., Any]:
    class_name, _, method = entry_point.rpartition(".")
    owner = getattr(main, class_name.removesuffix("()"))() if class_name else main
    found: Callable[..., Any] = getattr(owner, method)
    return found


def evaluate(expression: str) -> NoReturn:
    """Write the value of a trusted expression as one frame."""
    sys.set_int_max_str_digits(0)
    _write(values.encode(eval(expression, {})))
    programs.end(None)


def check(
    code: str, input_: Any, expected: Any, output: Any, output_frame: bytes = b""
) -> NoReturn:
    """Write what a trusted checker's `check(input, output, expected)` returns, as one frame; a text
    if it raises an exception.

    `output_frame` is a result as the program's process wrote it; one without a value is refused.
    """
    checker = programs.run(code, is_script=False).__dict__["check"]
    try:
        answer = values.decode(output_frame, values.LIVE) if output_frame else output
        verdict = checker(input_, answer, expected)
    except values.BadFrame:
        verdict = False
    except Exception as error:
        verdict = f"{type(error).__name__}: {error}"[:500]
    _write(values.encode(verdict))
    programs.end(None)


def serve_program(code: str, seed: int) -> NoReturn:
    """Run a program and serve the tests of the `assert` kind."""
    _seed(seed)
    assertions.serve_program(code)


def compile_program(command: Sequence[str], file_name: str, source: str) -> NoReturn:
    """Compile a text in the box and write the program, or end with the compiler's status."""
    with open(file_name, "w", encoding="utf-8") as file:
        file.write(source)
    streams = [(os.POSIX_SPAWN_DUP2, 2, 1)]
    child = os.posix_spawn(command[0], list(command), os.environ, file_actions=streams)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        os._exit(1)
    with open("program", "rb") as program:
        write_result(program.read())
    os._exit(0)


def run_native() -> NoReturn:
    """Become the compiled program whose file is open as descriptor 3."""
    os.set_inheritable(_PROGRAM, False)
    os.execve(_PROGRAM, ["program"], os.environ)


def _write(frame: str) -> None:
    write_result(frame.encode())


def _seed(seed: int) -> None:
    sys.modules["random"].seed(seed)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(seed % 2**32)


ROLES: Mapping[str, Callable[..., NoReturn]] = {
    "stdin": run_stdin,
    "function": run_function,
    "evaluate": evaluate,
    "check": check,
    "compile": compile_program,
    "native": run_native,
    "serve_program": serve_program,
    "run_test": assertions.run_test,
}
