"""How a value leaves a process that ran a program: JSON text with tags, never pickle.

Plain JSON for None, bool, int, float, str and list; anything else is an object with one key, its
tag. What has no tag is `opaque`: equal to nothing. The text is hostile: decoding it runs no code,
raises only BadFrame, and puts no foreign key into a hash table unless asked to.
"""

import json
import math
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any

MAX_FRAME_BYTES = 32 * 2**20
"""Of a program's result; more is an output limit exceeded."""
_MAX_DEPTH = 400
_SAFE_INT = 2**63
_LEAVES = {type(None), bool, int, float, str}
_MAX_FRACTION_CHARACTERS = 10_000
_DTYPES = ("bool", "int64", "int32", "uint8", "float64", "float32", "complex128")
"""Of numpy arrays that travel as such; to the judge they are lists."""
_HEXADECIMAL = re.compile("-?[0-9a-f]+")
_MAX_BIG_INT_CHARACTERS = 2**20


class BadFrame(ValueError):
    """A text that no encoder of ours wrote."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of a type that does not travel."""

    type_name: str


@dataclass(frozen=True, slots=True)
class SetItems:
    """The elements of a set, in no order and not hashed."""

    items: list[Any]


@dataclass(frozen=True, slots=True)
class DictItems:
    """The pairs of a dictionary, not hashed."""

    pairs: list[tuple[Any, Any]]


# ---- encoding, in the process of the program


def encode(value: Any, encode_other: Callable[[Any], dict[str, Any]] | None = None) -> str:
    """Write a value as tagged JSON. `encode_other` gives the object for what is opaque otherwise.

    Raises RecursionError for a value nested too deeply, which a cyclic one is.
    """
    return json.dumps(_tagged(value, 0, encode_other), allow_nan=False)


def _tagged(value: Any, depth: int, other: Callable[[Any], dict[str, Any]] | None) -> Any:
    kind = type(value)
    if kind in _LEAVES:
        return _leaf(value, kind)
    if depth > _MAX_DEPTH:
        raise RecursionError("value nested too deeply")
    if (kind is list or kind is tuple) and (body := _flat(value, kind)) is not None:
        return body
    container = _container(value, kind)
    if container is not None:
        tag, items = container
        body = [_tagged(item, depth + 1, other) for item in items]
        if tag in ("dict", "counter", "ordereddict"):
            body = [pair["tuple"] for pair in body]
        return {tag: body} if tag else body
    relative = _plain_relative(value, kind)
    if relative is not value:
        return _tagged(relative, depth, other)
    text = _text_of(value, kind)
    if text is not None:
        return text
    if kind.__name__ == "ndarray" and value.dtype.name in _DTYPES:
        return {"array": [value.dtype.name, _tagged(value.tolist(), depth + 1, other)]}
    return other(value) if other else {"opaque": kind.__name__[:200]}


def _leaf(value: Any, kind: type) -> Any:
    if kind is int and not -_SAFE_INT < value < _SAFE_INT:
        return {"int": f"{value:x}"}
    if kind is float and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _flat(value: Any, kind: type) -> Any:
    """Write a list or tuple of leaves, or a list of such, as it is: a grid takes no call an item.

    None for any other.
    """
    if _are_leaves(value):
        return value if kind is list else {"tuple": value}
    inner = set(map(type, value))
    if kind is list and inner in ({list}, {tuple}) and _are_leaves([*chain.from_iterable(value)]):
        return value if inner == {list} else {"tuples": value}
    return None


def _are_leaves(items: Any) -> bool:
    """Whether all items are written as JSON has them."""
    kinds = set(map(type, items))
    if not kinds <= _LEAVES:
        return False
    integers = items if kinds == {int} else [item for item in items if type(item) is int]
    if integers and not -_SAFE_INT < min(integers) <= max(integers) < _SAFE_INT:
        return False
    return float not in kinds or all(math.isfinite(item) for item in items if type(item) is float)


def _plain_relative(value: Any, kind: type) -> Any:
    """Return the plain value that a numpy value or a member of an IntEnum stands for."""
    if (
        kind.__module__.split(".")[0] == "numpy"
        and hasattr(value, "tolist")
        and not (value.shape and value.dtype.name in _DTYPES)
    ):
        plain = value.tolist()
        return value if type(plain) is kind else plain
    if isinstance(value, Enum):
        for base in (int, str, float):
            if isinstance(value, base):
                return base(value)
    return value


def _container(value: Any, kind: type) -> tuple[str, list[Any]] | None:
    """Return the tag, empty for a list, and the items of a container that travels."""
    if kind is list:
        return "", list(value)
    if kind in (tuple, set, frozenset, deque):
        return kind.__name__, list(value)
    if kind in (dict, Counter, OrderedDict):
        return kind.__name__.lower(), list(value.items())
    if kind is defaultdict:
        return "dict", list(value.items())
    if isinstance(value, tuple) and (fields := getattr(kind, "_fields", None)):
        return "named", [kind.__name__, list(fields), *value]
    return None


def _text_of(value: Any, kind: type) -> dict[str, Any] | None:
    if kind is bytes or kind is bytearray:
        return {kind.__name__: value.hex()}
    if kind is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if kind is range:
        return {"range": [f"{n:x}" for n in (value.start, value.stop, value.step)]}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is Fraction:
        return {"fraction": [f"{value.numerator:x}", f"{value.denominator:x}"]}
    if kind in (date, datetime, time):
        return {kind.__name__: value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    return None


# ---- decoding


def plain_text(body: Any) -> str:
    """Return a text. Raises BadFrame for anything else."""
    if type(body) is not str:
        raise BadFrame("a text was expected")
    return body


def _hexadecimal(body: Any, longest: int = _MAX_BIG_INT_CHARACTERS) -> int:
    digits = plain_text(body)
    if len(digits) > longest or not _HEXADECIMAL.fullmatch(digits):
        raise BadFrame("a hexadecimal number was expected")
    return int(digits, 16)


def _real(body: Any) -> float:
    text = plain_text(body)
    if not text.isascii() or len(text) > 40:
        raise BadFrame("a number was expected")
    return float(text)


def plain_list(body: Any, length: int | None = None) -> list[Any]:
    """Return a list, of that length where one is given. Raises BadFrame for anything else."""
    if type(body) is not list or (length is not None and len(body) != length):
        raise BadFrame("a list was expected")
    return body


def _pairs(body: Any) -> list[tuple[Any, Any]]:
    return [(key, value) for key, value in (plain_list(pair, 2) for pair in plain_list(body))]


def _complex(body: Any) -> complex:
    real, imaginary = plain_list(body, 2)
    return complex(_real(real), _real(imaginary))


def _range(body: Any) -> range:
    start, stop, step = (_hexadecimal(number) for number in plain_list(body, 3))
    return range(start, stop, step)


def _fraction(body: Any) -> Fraction:
    # Their greatest common divisor is sought, which takes the square of their length.
    numerator, denominator = (
        _hexadecimal(number, _MAX_FRACTION_CHARACTERS) for number in plain_list(body, 2)
    )
    if denominator <= 0:
        raise BadFrame("a fraction's denominator must be positive")
    return Fraction(numerator, denominator)


def _decimal(body: Any) -> Decimal:
    if len(plain_text(body)) > _MAX_BIG_INT_CHARACTERS:
        raise BadFrame("a decimal number is too long")
    return Decimal(body)


def _timedelta(body: Any) -> timedelta:
    days, seconds, microseconds = plain_list(body, 3)
    if not all(type(number) is int for number in (days, seconds, microseconds)):
        raise BadFrame("a timedelta has three integers")
    return timedelta(days, seconds, microseconds)


def _named(body: Any) -> Any:
    """Build a named tuple of a class of ours."""
    name, fields, *items = plain_list(body)
    if not all(type(each) is str and each.isidentifier() for each in (name, *plain_list(fields))):
        raise BadFrame("not the names of a named tuple")
    return _named_tuple(name, tuple(fields))(*items)


@lru_cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    return namedtuple(name, fields)


def _tuples(body: Any) -> list[tuple[Any, ...]]:
    if not set(map(type, plain_list(body))) <= {list}:
        raise BadFrame("lists were expected")
    return [*map(tuple, body)]


def _array_items(body: Any) -> Any:
    return plain_list(body, 2)[1]


def _array(body: Any) -> Any:
    """Build an array where numpy is loaded, else a list."""
    dtype, items = plain_list(body, 2)
    numpy = sys.modules.get("numpy")
    if dtype not in _DTYPES:
        raise BadFrame("not the type of an array's items")
    return items if numpy is None else numpy.array(items, dtype=dtype)


_INERT: Mapping[str, Callable[[Any], Any]] = {
    "int": _hexadecimal,
    "float": _real,
    "tuple": lambda body: tuple(plain_list(body)),
    "tuples": _tuples,
    "dict": lambda body: DictItems(_pairs(body)),
    "named": lambda body: tuple(plain_list(body)[2:]),
    "deque": lambda body: plain_list(body),
    "counter": lambda body: DictItems(_pairs(body)),
    "ordereddict": lambda body: DictItems(_pairs(body)),
    "set": lambda body: SetItems(plain_list(body)),
    "frozenset": lambda body: SetItems(plain_list(body)),
    "bytes": lambda body: bytes.fromhex(plain_text(body)),
    "bytearray": lambda body: bytearray.fromhex(plain_text(body)),
    "complex": _complex,
    "range": _range,
    "decimal": _decimal,
    "fraction": _fraction,
    "date": lambda body: date.fromisoformat(plain_text(body)),
    "datetime": lambda body: datetime.fromisoformat(plain_text(body)),
    "time": lambda body: time.fromisoformat(plain_text(body)),
    "timedelta": _timedelta,
    "opaque": lambda body: Opaque(plain_text(body)),
    "array": _array_items,
}
LIVE: Mapping[str, Callable[[Any], Any]] = {
    **_INERT,
    "dict": lambda body: dict(_pairs(body)),
    "named": _named,
    "deque": lambda body: deque(plain_list(body)),
    "counter": lambda body: Counter(dict(_pairs(body))),
    "ordereddict": lambda body: OrderedDict(_pairs(body)),
    "array": _array,
    "set": lambda body: set(plain_list(body)),
    "frozenset": lambda body: frozenset(plain_list(body)),
}
"""Builds real sets and dictionaries: for a process that may be slowed down by its input."""


def decode(frame: bytes, builders: Mapping[str, Callable[[Any], Any]] = _INERT) -> Any:
    """Read what `encode` wrote. Raises BadFrame, and nothing else, for anything that it did not."""

    def build(pairs: list[tuple[str, Any]]) -> Any:
        if len(pairs) != 1 or pairs[0][0] not in builders:
            raise BadFrame("an object without a known tag")
        return builders[pairs[0][0]](pairs[0][1])

    try:
        return json.loads(
            frame.decode(),
            object_pairs_hook=build,
            parse_constant=_no_constant,
        )
    except BadFrame:
        raise
    # The constructors above are given hostile texts and numbers.
    except (ValueError, TypeError, ArithmeticError, InvalidOperation, RecursionError) as error:
        raise BadFrame(f"{type(error).__name__}: {error}"[:200]) from None


def _no_constant(name: str) -> Any:
    raise BadFrame(f"{name} without its tag")
