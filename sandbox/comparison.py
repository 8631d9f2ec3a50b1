"""Whether an answer is the expected one. Runs in the judge, on plain data of a hostile origin."""

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sandbox.values import DictItems, SetItems

_NUMBER = re.compile(rb"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?\Z")
_INTEGER = re.compile(rb"[+-]?\d+\Z")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a float may be from the expected one: |a - b| <= tol * max(1, |b|). 0 is exact."""

    value: float = 0.0

    @classmethod
    def parse(cls, checker: str) -> "Tolerance":
        """Read `tokens` or `float:TOL`. Raises ValueError."""
        if checker == "tokens":
            return cls()
        kind, _, number = checker.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if kind != "float" or not 0 < value < 1:
            raise ValueError(f"checker {checker!r}: give tokens, or float:TOL with 0 < TOL < 1")
        return cls(value)

    def accepts(self, got: float, expected: float) -> bool:
        """Compare two floats; nan and infinity are near nothing."""
        is_finite = math.isfinite(got) and math.isfinite(expected)
        return is_finite and abs(got - expected) <= self.value * max(1.0, abs(expected))


def same_tokens(output: bytes, expected: bytes, tolerance: Tolerance) -> bool:
    """Compare two outputs token by token; blanks and line ends do not matter, case does.

    A tolerance applies to tokens that are numbers on both sides and not an integer on both.
    """
    if output == expected:
        return True
    expected_tokens = expected.split()
    got_tokens = output.split(None, len(expected_tokens))  # never many more than are looked at
    if len(got_tokens) != len(expected_tokens):
        return False
    if got_tokens == expected_tokens:
        return True
    return bool(tolerance.value) and all(
        got == want or _near(got, want, tolerance)
        for got, want in zip(got_tokens, expected_tokens, strict=True)
    )


def _near(got: bytes, expected: bytes, tolerance: Tolerance) -> bool:
    if not (_NUMBER.match(got) and _NUMBER.match(expected)):
        return False
    if _INTEGER.match(got) and _INTEGER.match(expected):
        return got.lstrip(b"+") == expected.lstrip(b"+")
    return tolerance.accepts(float(got), float(expected))


def same_value(got: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Compare decoded values: a list equals a tuple, a bool is no number, sets have no order.

    `expected` may hold sets and dictionaries, or what `values.decode` makes of them.
    """
    expected = _without_hashes(expected)
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return _same_number(got, expected, tolerance)
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return _same_items(list(got), list(expected), tolerance)
    if isinstance(got, SetItems) and isinstance(expected, SetItems):
        return _same_unordered(got.items, expected.items, lambda item: item, tolerance)
    if isinstance(got, DictItems) and isinstance(expected, DictItems):
        return _same_unordered(got.pairs, expected.pairs, lambda pair: pair[0], tolerance)
    return type(got) is type(expected) and bool(got == expected)


def _without_hashes(value: Any) -> Any:
    if isinstance(value, dict):
        return DictItems(list(value.items()))
    if isinstance(value, set | frozenset):
        return SetItems(list(value))
    return value


def _same_number(got: float, expected: float, tolerance: Tolerance) -> bool:
    if got == expected or (got != got and expected != expected):  # nan is where nan is expected
        return True
    if isinstance(got, int) and isinstance(expected, int):
        return False
    try:
        return bool(tolerance.value) and tolerance.accepts(float(got), float(expected))
    except OverflowError:
        return False


def _same_items(got: list[Any], expected: list[Any], tolerance: Tolerance) -> bool:
    return len(got) == len(expected) and all(
        same_value(a, b, tolerance) for a, b in zip(got, expected, strict=True)
    )


def _same_unordered(
    got: list[Any], expected: list[Any], key: Callable[[Any], Any], tolerance: Tolerance
) -> bool:
    """Compare item by item in the order of their keys: by size where all are numbers."""
    if len(got) != len(expected):
        return False
    keys = [key(item) for item in (*got, *expected)]
    are_numbers = all(type(each) in (int, float) and each == each for each in keys)
    order: Callable[[Any], Any] = key if are_numbers else lambda item: _order(key(item))
    return _same_items(sorted(got, key=order), sorted(expected, key=order), tolerance)


def _order(value: Any) -> bytes:
    """A digest that equal values share, to sort by."""
    return hashlib.sha256(json.dumps(_orderable(value), default=_digits).encode()).digest()


def _digits(value: Any) -> str:
    """Write the numbers of a value that JSON has no form for, in hexadecimal."""
    if isinstance(value, Fraction):
        return f"{value.numerator:x}/{value.denominator:x}"
    if isinstance(value, range):
        return f"{value.start:x}:{value.stop:x}:{value.step:x}"
    return str(value)


def _orderable(value: Any) -> Any:
    value = _without_hashes(value)
    if isinstance(value, SetItems):
        return sorted(_order(item).hex() for item in value.items)
    if isinstance(value, DictItems):
        return sorted(_order(pair).hex() for pair in value.pairs)
    if isinstance(value, list | tuple):
        return [_orderable(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return hex(int(value))
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value
