"""What one side of an assert test may call by name on the other: types, library objects, errors."""

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
        return "exception", _lineage(item)
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


def _lineage(kind: type[BaseException]) -> str:
    """Name a class of errors with its bases, from the nearest to the first of Python's own."""
    names = []
    for base in kind.__mro__:
        names.append(f"{base.__module__}.{base.__qualname__}")
        if base.__module__ == "builtins":
            break
    return ":".join(names)


def described(error: BaseException) -> tuple[str, str, list[Any]]:
    """Return what travels of an error: its lineage, its text, and its arguments where all are
    plain."""
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    arguments = list(error.args)[:_MAX_ARGUMENTS]
    are_plain = all(type(each) in _PLAIN for each in arguments)
    return _lineage(type(error)), text, arguments if are_plain else [text]


_MAX_ARGUMENTS = 8
_PLAIN = (type(None), bool, int, float, str)
_foreign_classes: dict[str, type[BaseException]] = {}


def exception_class(lineage: Any) -> type[BaseException]:
    """Return the class of that lineage, one of ours for each of the program's. Raises BadFrame."""
    names = lineage.split(":") if type(lineage) is str else []
    found: type[BaseException] | None = None
    for number, name in reversed([*enumerate(names)]):
        module, _, own = name.rpartition(".")
        known = vars(sys.modules[module]).get(own) if _is_known(module) else None
        if isinstance(known, type) and issubclass(known, BaseException):
            found = known
        elif found is None or not own.isidentifier():
            raise values.BadFrame("not an exception")
        else:
            key = ":".join(names[number:])
            found = _foreign_classes.setdefault(key, type(own, (found,), {}))
    if found is None:
        raise values.BadFrame("not an exception")
    return found


def _is_known(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names and module in sys.modules


def remote_error(lineage: Any, text: Any, arguments: Any, *, is_next: bool) -> BaseException:
    """Make the error that `described` told of; `is_next` where it may end an iteration."""
    kind = exception_class(lineage)
    if not issubclass(kind, Exception) or (issubclass(kind, StopIteration) and not is_next):
        kind = RuntimeError  # it would end a loop of the test, or the test itself
    try:
        error = kind(*values.plain_list(arguments))
    except TypeError:  # its constructor wants others
        error = kind.__new__(kind)
        error.args = (text,)
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
