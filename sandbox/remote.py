"""Two confined processes that use each other's objects: tests on one side, a program on the other.

Plain data travels by value, instances of classes that both sides define travel as records, and
anything else stays where it is and is named by a number. Either side may be called in the middle
of its own call. What the program answers is only ever data to the tests, so `==` is always theirs.
"""

import builtins
import json
import operator
import os
import select
import struct
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from sandbox import values

_MAX_MESSAGE_BYTES = 2**26
_LENGTH = struct.Struct("=I")


class Gone(Exception):
    """The other side ended."""


class TooSlow(Exception):
    """The other side has taken all its time."""


_COMPARISONS = ("lt", "le", "gt", "ge")
_ARITHMETIC = (
    *("neg", "pos", "invert", "abs", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("matmul", "and_", "or_", "xor", "lshift", "rshift"),
)
_CONTAINERS = ("getitem", "setitem", "delitem", "contains")
_BUILTINS = ("bool", "str", "repr", "len", "int", "float", "iter", "next", "reversed")
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "call": lambda function, *args, **kwargs: function(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "isinstance": lambda kind, value: isinstance(value, kind),
    "enter": lambda manager: manager.__enter__(),
    "exit": lambda manager: manager.__exit__(None, None, None),
    "eq": operator.eq,
    **{name: getattr(builtins, name) for name in _BUILTINS},
    **{name: getattr(operator, name) for name in (*_COMPARISONS, *_ARITHMETIC, *_CONTAINERS)},
}
ON_TESTS_SIDE = {name: OPERATIONS[name] for name in ("call", "iter", "next")}
"""What the program may do with what the tests hand it."""


class Link:
    """One end of the two pipes. Objects of the other side appear as `Proxy`."""

    def __init__(self, incoming: int, outgoing: int, longest_wait_s: float | None = None):
        self._incoming = incoming
        self._outgoing = outgoing
        self._seconds_left = longest_wait_s
        self._exported: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._proxies: dict[int, Any] = {}
        self.records: dict[str, type] = {}
        """Classes that both sides define, by name."""
        self.names: Mapping[str, Any] = {}
        """What the other side may look up."""
        self.operations: Mapping[str, Callable[..., Any]] = {}
        """What the other side may do with what it has of ours."""

    # ---- asking and serving

    def ask(self, operation: str, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Have the other side do something and return its answer.

        Raises what it raised, Gone or TooSlow.
        """
        self._send(["do", operation, target, list(args), [list(item) for item in kwargs.items()]])
        while True:
            message = self._receive()
            if message[0] == "do":
                self._serve(message)
            elif message[0] == "raise":
                raise _remote_error(*message[1:])
            else:
                _, result, changes = message
                for place, new in changes:
                    _overwrite(kwargs[place] if isinstance(place, str) else args[place], new)
                return result

    def serve(self) -> None:
        """Serve the other side until it is gone."""
        while True:
            try:
                message = self._receive()
            except Gone:
                return
            self._serve(message)

    def _serve(self, message: list[Any]) -> None:
        _, operation, target, args, pairs = message
        try:
            if operation == "name":
                answer = ["ok", [self.names[target]] if target in self.names else [], []]
            else:
                kwargs = dict(map(tuple, pairs))
                answer = self._done(self.operations[operation], target, args, kwargs)
        except (Gone, MemoryError):
            raise
        except BaseException as error:
            answer = ["raise", *_described(error)]
        try:
            self._send(answer)
        except (RecursionError, ValueError, TypeError) as error:
            self._send(["raise", *_described(error)])

    def _done(
        self, function: Callable[..., Any], target: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> list[Any]:
        places: list[tuple[Any, Any]] = [*enumerate(args), *kwargs.items()]
        before = [
            (place, value, self._dump(value)) for place, value in places if self._can_change(value)
        ]
        result = function(target, *args, **kwargs)
        changes = [[place, value] for place, value, text in before if self._dump(value) != text]
        return ["ok", result, changes]

    def _can_change(self, value: Any) -> bool:
        kind = type(value)
        return kind in (list, dict, set, bytearray) or self.records.get(kind.__name__) is kind

    # ---- messages

    def _send(self, message: list[Any]) -> None:
        data = self._dump(message).encode()
        view = memoryview(_LENGTH.pack(len(data)) + data)
        try:
            while view:
                view = view[os.write(self._outgoing, view) :]
        except BrokenPipeError:
            raise Gone from None

    def _receive(self) -> list[Any]:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > _MAX_MESSAGE_BYTES:
            raise values.BadFrame(f"a message of {length:,} bytes")
        message = self.load(self._read(length))
        if type(message) is not list or not message or len(message) != _FIELDS.get(message[0]):
            raise values.BadFrame("not a message")
        return message

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            if self._seconds_left is not None:
                self._await_data()
            chunk = os.read(self._incoming, length - len(data))
            if not chunk:
                raise Gone
            data += chunk
        return data

    def _await_data(self) -> None:
        assert self._seconds_left is not None
        start = time.monotonic()
        ready, _, _ = select.select([self._incoming], [], [], max(self._seconds_left, 0.0))
        self._seconds_left -= time.monotonic() - start
        if not ready:
            raise TooSlow

    # ---- values

    def _dump(self, value: Any) -> str:
        """Encode with the records it holds in a table, so that long linked lists are not deep."""
        nodes: list[Any] = []
        numbers: dict[int, int] = {}

        def other(item: Any) -> dict[str, Any]:
            kind = type(item)
            if isinstance(item, Proxy):
                return {"yours": _number_of(item)}
            if self.records.get(kind.__name__) is kind:
                if id(item) not in numbers:
                    numbers[id(item)] = len(nodes)
                    nodes.append(item)
                return {"node": numbers[id(item)]}
            return {"mine": [self._export(item), *_kind_of(item)]}

        body = values.encode(value, other)
        attributes = []
        for node in nodes:  # grows while they are written
            attributes.append([type(node).__name__, values.encode(vars(node), other)])
        return json.dumps([body, attributes])

    def load(self, data: bytes) -> Any:
        """Decode what `_dump` wrote on the other side. Raises BadFrame, and nothing else."""
        # Two plain levels of texts around the tagged values, each read as hostile.
        outer = values.decode(data)
        if type(outer) is not list or len(outer) != 2:
            raise values.BadFrame("not a message")
        body, entries = outer
        nodes: list[Any] = [
            object.__new__(self._record(entry)) for entry in values.plain_list(entries)
        ]
        builders = {
            **values.LIVE,
            "node": lambda number: _item(nodes, number),
            "yours": lambda number: _item(self._exported, number),
            "mine": lambda parts: self._proxy(*values.plain_list(parts, 3)),
        }
        for node, (_, text) in zip(nodes, entries, strict=True):
            attributes = values.decode(
                values.plain_text(text).encode(errors="surrogatepass"), builders
            )
            if type(attributes) is not dict or not all(type(name) is str for name in attributes):
                raise values.BadFrame("not the attributes of a record")
            vars(node).update(attributes)
        return values.decode(values.plain_text(body).encode(errors="surrogatepass"), builders)

    def _record(self, entry: Any) -> type:
        name, _ = values.plain_list(entry, 2)
        if type(name) is not str or name not in self.records:
            raise values.BadFrame("not a record")
        return self.records[name]

    def _export(self, item: Any) -> int:
        number = self._numbers.get(id(item))
        if number is None:
            number = self._numbers[id(item)] = len(self._exported)
            self._exported.append(item)  # kept alive, so its id stays its own
        return number

    def _proxy(self, number: int, kind: str, name: str) -> Any:
        if type(number) is not int or type(kind) is not str:
            raise values.BadFrame("not an object")
        if kind == "known":
            return _imported(name)
        if number not in self._proxies:
            if kind == "exception":
                self._proxies[number] = _exception_class(name)
            else:
                self._proxies[number] = Proxy(self, number)
        return self._proxies[number]


_FIELDS = {"do": 5, "ok": 3, "raise": 3}


def _item(items: list[Any], number: Any) -> Any:
    if type(number) is not int or not 0 <= number < len(items):
        raise values.BadFrame("not a number of an object")
    return items[number]


def _overwrite(old: Any, new: Any) -> None:
    """Give an argument the contents that the other side left in its copy."""
    if type(old) in (list, bytearray):
        old[:] = new
    elif type(old) in (dict, set):
        old.clear()
        old.update(new)
    elif type(old) is type(new):
        vars(old).clear()
        vars(old).update(vars(new))


# ---- objects of the other side


class Proxy:
    """An object that lives on the other side. Equal to plain data never."""

    __slots__ = ("_link", "_number")

    def __init__(self, link: Link, number: int):
        object.__setattr__(self, "_link", link)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        return self._link.ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("setattr", self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._link.ask("call", self, *args, **kwargs)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Proxy) and bool(self._link.ask("isinstance", self, value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Proxy):
            return False  # else an object that equals everything would pass every test
        return self is other or bool(self._link.ask("eq", self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._number)


def _number_of(proxy: Proxy) -> int:
    number: int = object.__getattribute__(proxy, "_number")
    return number


def _forward(method: str, operation: str) -> None:
    def forwarded(self: Proxy, *args: Any) -> Any:
        return self._link.ask(operation, self, *args)

    setattr(Proxy, method, forwarded)


for _name in (*_BUILTINS, *_COMPARISONS, *_ARITHMETIC, *_CONTAINERS):
    _forward(f"__{_name.rstrip('_')}__", _name)


def _exit(self: Proxy, *_: Any) -> Any:
    return self._link.ask("exit", self)


Proxy.__exit__ = _exit  # type: ignore[attr-defined]


def _kind_of(item: Any) -> tuple[str, str]:
    """Describe an object: `known` is in the standard library under that name on both sides."""
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    if isinstance(item, ModuleType):
        module, name = item.__name__, ""
    if isinstance(item, type) and issubclass(item, BaseException) and module != "builtins":
        return "exception", f"{item.__name__}:{_builtin_base(item).__name__}"
    if isinstance(module, str) and module.split(".")[0] in sys.stdlib_module_names:
        with suppress(values.BadFrame):
            if _imported(f"{module}:{name}") is item:
                return "known", f"{module}:{name}"
    return "object", ""


def _imported(path: Any) -> Any:
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


def _described(error: BaseException) -> tuple[str, str]:
    kind = type(error)
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    return f"{kind.__name__}:{_builtin_base(kind).__name__}", text


_foreign_classes: dict[str, type[BaseException]] = {}


def _exception_class(name: Any) -> type[BaseException]:
    """Return the class of that name, `Name:BuiltinBase`; a class of ours for one of the program."""
    own, _, base_name = name.partition(":") if type(name) is str else ("", "", "")
    base = getattr(builtins, base_name, None)
    if not (isinstance(base, type) and issubclass(base, BaseException)) or not own.isidentifier():
        raise values.BadFrame("not an exception")
    if own == base_name:
        return base
    return _foreign_classes.setdefault(name, type(own, (base,), {}))


def _remote_error(name: Any, text: Any) -> BaseException:
    kind = _exception_class(name)
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
    """List the classes that a text run as `__main__` defined."""
    for name, item in names.items():
        if isinstance(item, type) and item.__module__ == "__main__" and item.__name__ == name:
            yield name, item
