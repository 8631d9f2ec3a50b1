"""What one side of an assert test may call by name on the other: types, library objects, errors."""

import builtins
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

from sandbox import values

_KNOWN_TYPES: Mapping[str, type] = {
    f"{kind.__module__}:{kind.__qualname__}": kind
    for kind in (
        *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset),
        *(range, object, type(None), Counter, OrderedDict, defaultdict, deque, Decimal, Fraction),
        *(date, datetime, time, timedelta),
    )
}
"""What the program may name instead of sending it: types that make plain values."""


def known_type(path: Any) -> type:
    """Return one of the types that the program may name. Raises BadFrame for anything else."""
    if type(path) is not str or path not in _KNOWN_TYPES:
        raise values.BadFrame("not a known type")
    return _KNOWN_TYPES[path]


def kind_of(item: Any, *, all_known: bool) -> tuple[str, str]:
    """Describe an object: `known` is in the standard library under that name on both sides.

    The tests may name all of it (`all_known`), the program a few types.
    """
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    if isinstance(item, ModuleType):
        module, name = item.__name__, ""
    if isinstance(item, type) and issubclass(item, BaseException) and module != "builtins":
        return "exception", f"{item.__name__}:{_builtin_base(item).__name__}"
    if not all_known:
        path = f"{module}:{name}"
        return ("known", path) if _KNOWN_TYPES.get(path) is item else ("object", "")
    if isinstance(module, str) and module.split(".")[0] in sys.stdlib_module_names:
        with suppress(values.BadFrame):
            if imported(f"{module}:{name}") is item:
                return "known", f"{module}:{name}"
    return "object", ""


def imported(path: Any) -> Any:
    """Return an object of the standard library that is loaded on this side."""
    module, _, name = path.partition(":") if type(path) is str else ("", "", "")
    if module.split(".")[0] not in sys.stdlib_module_names or module not in sys.modules:
        raise values.BadFrame(f"{path!r} is not in the standard library")
    found: Any = sys.modules[module]
    for part in name.split(".") if name else ():
        if part not in vars(found):
            raise values.BadFrame(f"{path!r} is not in the standard library")
        found = vars(found)[part]
    return found


# ---- errors of the other side


def _builtin_base(kind: type[BaseException]) -> type[BaseException]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def described(error: BaseException) -> tuple[str, str]:
    """Return what travels of an error: its class, `Name:BuiltinBase`, and its text."""
    kind = type(error)
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    return f"{kind.__name__}:{_builtin_base(kind).__name__}", text


_foreign_classes: dict[str, type[BaseException]] = {}


def exception_class(name: Any) -> type[BaseException]:
    """Return the class of that name, `Name:BuiltinBase`; a class of ours for one of the program."""
    own, _, base_name = name.partition(":") if type(name) is str else ("", "", "")
    base = getattr(builtins, base_name, None)
    if not (isinstance(base, type) and issubclass(base, BaseException)) or not own.isidentifier():
        raise values.BadFrame("not an exception")
    if own == base_name:
        return base
    return _foreign_classes.setdefault(name, type(own, (base,), {}))


def remote_error(name: Any, text: Any, *, is_next: bool) -> BaseException:
    """Make the error that `described` told of; `is_next` where it may end an iteration."""
    kind = exception_class(name)
    if not issubclass(kind, Exception) or (issubclass(kind, StopIteration) and not is_next):
        kind = RuntimeError  # it would end a loop of the test, or the test itself
    try:
        error = kind(text)
    except TypeError:  # UnicodeDecodeError and the like want more arguments
        error = RuntimeError(f"{name}: {text}")
    error.__dict__["is_remote"] = True
    return error


def is_remote(error: BaseException) -> bool:
    """Whether the other side raised it."""
    return error.__dict__.get("is_remote") is True


def own_classes(names: Mapping[str, Any]) -> Iterable[tuple[str, type]]:
    """List the classes that a text defined in the module whose names these are."""
    for name, item in names.items():
        if (
            isinstance(item, type)
            and item.__module__ == names["__name__"]
            and item.__name__ == name
        ):
            yield name, item
