"""Runs a program in this process as `python main.py` would, and ends the process."""

import atexit
import gc
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

FILE_NAME = "main.py"
OUT_OF_MEMORY = 86
"""Exit status of a program that ended by a MemoryError."""
FAILED = 1
_FRAMES_ABOVE = 16
"""At least as many as lie above the program's own, which may recurse as deep as elsewhere."""


def fresh_main(name: str = "__main__") -> ModuleType:
    """Make the module that a program runs in, as an interpreter does at its start."""
    main = ModuleType(name)
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    main.__dict__["__file__"] = FILE_NAME
    sys.modules["__main__"] = ModuleType("__main__")  # not the zygote's
    sys.modules[name] = main
    sys.argv[:] = [FILE_NAME]
    return main


def compiled(source: str) -> CodeType:
    """Compile a program. Raises what compile() raises."""
    return compile(source.removeprefix("\ufeff"), FILE_NAME, "exec", dont_inherit=True)


def run(
    source: str, names: Mapping[str, Any] | None = None, *, is_script: bool = True
) -> ModuleType:
    """Run a program's text and return its module, with `names` in scope. Raises what it raises.

    A script is `__main__`; a text whose functions are called is a module like any other.
    """
    sys.setrecursionlimit(sys.getrecursionlimit() + _FRAMES_ABOVE)
    main = fresh_main() if is_script else fresh_main("solution")
    main.__dict__.update(names or {})
    exec(compiled(source), main.__dict__)
    return main


def end(error: BaseException | None) -> NoReturn:
    """End the process as the interpreter does: threads joined, buffers flushed, an error shown."""
    status = _status_of(error)
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        _flush()
        if error is not None:  # its frames hold the program's names
            error.__traceback__ = error.__context__ = error.__cause__ = None
        sys.modules.pop("__main__", None)  # files that it left open are written
        gc.collect()
        _flush()
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        status = status or 120  # as the interpreter's own, when it cannot flush
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()


def _status_of(error: BaseException | None) -> int:
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return _exit_status(error.code)
    with suppress(BaseException):  # the hook may be the program's own
        trace = _of_the_program(error)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    return OUT_OF_MEMORY if isinstance(error, MemoryError) else FAILED


def _of_the_program(error: BaseException) -> TracebackType | None:
    """Leave out the frames above the program's own."""
    frame = error.__traceback__
    while frame and frame.tb_frame.f_code.co_filename != FILE_NAME:
        frame = frame.tb_next
    return frame


def _exit_status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return FAILED
