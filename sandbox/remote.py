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
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from sandbox import values
from sandbox.foreign import (
    described,
    exception_class,
    imported,
    kind_of,
    known_type,
    own_classes,
    remote_error,
)

_MAX_MESSAGE_BYTES = 2**26
_LENGTH = struct.Struct("=I")


class Gone(BaseException):
    """The other side ended. Not an Exception, which a test's text may catch."""


class TooSlow(BaseException):
    """The other side has taken all its time."""


_COMPARISONS = ("lt", "le", "gt", "ge")
_ARITHMETIC = (
    *("neg", "pos", "invert", "abs", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("matmul", "and_", "or_", "xor", "lshift", "rshift"),
)
_CONTAINERS = ("getitem", "setitem", "delitem", "contains")
_VISIBLE = ("__name__", "__qualname__", "__dict__", "__wrapped__", "__annotations__")
_BUILTINS = ("bool", "str", "repr", "len", "int", "float", "iter", "next", "reversed")
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "call": lambda function, /, *args, **kwargs: function(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "isinstance": lambda kind, value: isinstance(value, kind),
    "enter": lambda manager: manager.__enter__(),
    "exit": lambda manager: manager.__exit__(None, None, None),
    "eq": operator.eq,
    "hash": hash,
    "format": format,
    **{name: getattr(builtins, name) for name in _BUILTINS},
    **{name: getattr(operator, name) for name in (*_COMPARISONS, *_ARITHMETIC, *_CONTAINERS)},
}
ON_TESTS_SIDE = {name: OPERATIONS[name] for name in ("call", "iter", "next")}
"""What the program may do with what the tests hand it."""


class Link:
    """One end of the two pipes. Objects of the other side appear as `Proxy`."""

    def __init__(
        self,
        incoming: int,
        outgoing: int,
        *,
        trusts_other_side: bool,
        longest_wait_s: float | None = None,
    ):
        """`trusts_other_side` is the program's view: it may be handed whatever the tests name."""
        self._trusts_other_side = trusts_other_side
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

    def ask(self, operation: str, target: "Proxy | str", /, *args: Any, **kwargs: Any) -> Any:
        """Have the other side do something with an object of its own and return its answer.

        `target` is a name for the operation `name`. Raises what it raised, Gone or TooSlow.
        """
        what = target if isinstance(target, str) else _number_of(target)
        self._send(["do", operation, what, list(args), [list(item) for item in kwargs.items()]])
        while True:
            message = self._receive()
            if message[0] == "do":
                self._serve(message)
            elif message[0] == "raise":
                raise remote_error(*message[1:], is_next=operation == "next")
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
            if operation in ("name", "defined"):
                is_there = target in self.names
                if operation == "defined":
                    is_there = is_there and _is_defined_in(self.names, target)
                answer = ["ok", [self.names[target]] if is_there else [], []]
            elif operation == "share_classes" and self._trusts_other_side:
                answer = ["ok", self._share_classes(args[0]), []]
            else:
                kwargs = dict(map(tuple, pairs))
                # Only what was handed out, and only by its number: never a value of the message.
                subject = _item(self._exported, target)
                answer = self._done(self.operations[operation], subject, args, kwargs)
        except (Gone, TooSlow, MemoryError):
            raise
        except BaseException as error:
            answer = ["raise", *described(error)]
        try:
            self._send(answer)
        except (RecursionError, ValueError, TypeError) as error:
            self._send(["raise", *described(error)])

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

    def _share_classes(self, names: list[str]) -> list[str]:
        self.records = {name: kind for name, kind in own_classes(self.names) if name in names}
        return list(self.records)

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
        data = bytearray()
        while len(data) < length:
            if self._seconds_left is not None:
                self._await_data()
            chunk = os.read(self._incoming, length - len(data))
            if not chunk:
                raise Gone
            data += chunk
        return bytes(data)

    def _await_data(self) -> None:
        assert self._seconds_left is not None
        start = monotonic()
        ready, _, _ = select.select([self._incoming], [], [], max(self._seconds_left, 0.0))
        self._seconds_left -= monotonic() - start
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
            kind_word, name = kind_of(item, all_known=not self._trusts_other_side)
            return {"mine": [self._export(item), kind_word, name]}

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
            if any(callable(getattr(type(node), name, None)) for name in attributes):
                raise values.BadFrame("an attribute would hide a method of a record")
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
            return imported(name) if self._trusts_other_side else known_type(name)
        if number not in self._proxies:
            if kind == "exception":
                self._proxies[number] = exception_class(name)
            else:
                self._proxies[number] = Proxy(self, number)
        return self._proxies[number]


def _is_defined_in(names: Mapping[str, Any], name: str) -> bool:
    """Whether a function or class of that name is the text's own, and no import."""
    return callable(names[name]) and getattr(names[name], "__module__", "") == names["__name__"]


_FIELDS = {"do": 5, "ok": 3, "raise": 4}


def _item(items: list[Any], number: Any) -> Any:
    if type(number) is not int or not 0 <= number < len(items):
        raise values.BadFrame("not a number of an object")
    return items[number]


def _overwrite(old: Any, new: Any) -> None:
    """Give an argument, which went there as a copy, the contents that were left in the copy."""
    if type(old) is not type(new):
        raise values.BadFrame("an argument changed its type")
    if isinstance(old, list | bytearray):
        old[:] = new
    elif isinstance(old, dict | set):
        old.clear()
        old.update(new)
    else:
        vars(old).clear()
        vars(old).update(vars(new))


# ---- objects of the other side


class Proxy:
    """An object that lives on the other side.

    It is never equal to plain data and cannot be compared or reckoned with it: the answer would be
    the program's word.
    """

    __slots__ = ("_link", "_number")

    def __init__(self, link: Link, number: int):
        object.__setattr__(self, "_link", link)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _VISIBLE:
            # Protocols such as __array_interface__ hand out memory addresses.
            raise AttributeError(name)
        return self._link.ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("setattr", self, name, value)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
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
        return int(self._link.ask("hash", self))


def _number_of(proxy: Proxy) -> int:
    number: int = object.__getattribute__(proxy, "_number")
    return number


def _forward(method: str, operation: str, *, only_with_proxies: bool = False) -> None:
    def forwarded(self: Proxy, *args: Any) -> Any:
        if only_with_proxies and not all(isinstance(value, Proxy) for value in args):
            raise TypeError("an object of the program meets plain data of the test")
        return self._link.ask(operation, self, *args)

    setattr(Proxy, method, forwarded)


for _name in (*_BUILTINS, "getitem", "setitem", "delitem"):
    _forward(f"__{_name}__", _name)
for _name in (*_COMPARISONS, *_ARITHMETIC, "contains"):
    _forward(f"__{_name.rstrip('_')}__", _name, only_with_proxies=True)
_forward("__enter__", "enter")
_forward("__format__", "format")
setattr(Proxy, "__exit__", lambda self, *_: self._link.ask("exit", self))  # noqa: B010
