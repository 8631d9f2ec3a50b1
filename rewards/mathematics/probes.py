"""Numeric comparison at seeded points, in two precisions: what exact reading leaves open.

mpmath is imported when the first probe runs.
"""

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from rewards.mathematics.expressions import (
    Call,
    Constant,
    Expression,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    children,
    free_symbols,
)
from rewards.mathematics.fingerprint import exact_value

_ROUGH_DIGITS = 30
_FINE_DIGITS = 60
_SETTLED = 10
"""Digits in which the two precisions must agree, or the value is lost to cancellation."""
_EQUAL = 45
"""Digits in which fine values must agree to be equal."""
_WIDE_POINTS = 24
_MIN_POINTS = 2
_MAX_SYMBOLS = 6
_INTEGER_NAMES = frozenset("kmnN")
"""Variables that are whole by custom."""
_MAX_TERMS = 2000


def are_equal(first: Expression, second: Expression) -> bool | None:
    """Compare two formulas at points where both are defined; None if there are too few.

    Call `size.refuse_too_big` before. Variables are positive at first, then negative where both
    sides are real there; those that are whole by custom are whole and positive.
    """
    names = sorted(free_symbols(first) | free_symbols(second))
    if len(names) > _MAX_SYMBOLS:
        return None
    compared = 0
    wide = any(map(_is_piecewise, (first, second)))
    for point in _points(names, wide=wide):
        is_same = _same_at(first, second, point)
        if is_same is False:
            return False
        compared += is_same is not None
    return True if compared >= (_MIN_POINTS if names else 1) else None


def are_proportional(first: Expression, second: Expression, *, positive: bool) -> bool | None:
    """Say whether first = c second for one number c, which must be positive if `positive`."""
    names = sorted(free_symbols(first) | free_symbols(second))
    if not names or len(names) > _MAX_SYMBOLS:
        return None
    ratios = []
    for point in _points(names, whole=False):
        values = [_settled_value(each, point) for each in (first, second)]
        if any(value is None or value == 0 for value in values):
            continue
        ratios.append(values[0] / values[1])
    if len(ratios) < _MIN_POINTS:
        return None
    if positive and any(ratio.imag != 0 or ratio.real <= 0 for ratio in ratios):
        return False
    return all(_distance(ratio, ratios[0]) < _power_of_ten(-_EQUAL) for ratio in ratios[1:])


def is_near(node: Expression, target: Fraction, places: int) -> bool:
    """Say whether a formula without variables rounds to a decimal of that many places."""
    value = None if free_symbols(node) else _settled_value(node, {})
    if value is None or _has_imaginary_part(value):
        return False
    from mpmath import mpf

    distance = abs(value.real - mpf(target.numerator) / target.denominator)
    return bool(distance * 2 * 10**places <= 1)


def _is_piecewise(node: Expression) -> bool:
    """Say whether a formula may change its form at some point: steps, sizes, roots of squares."""
    if isinstance(node, Call) and node.name in ("floor", "ceil", "abs"):
        return True
    return _is_even_root(node) or any(map(_is_piecewise, children(node)))


def _is_even_root(node: Expression) -> bool:
    """Say whether a formula is an even root of more than a product of powers."""
    if not isinstance(node, Power) or not isinstance(node.exponent, Number):
        return False
    return node.exponent.value.denominator % 2 == 0 and _contains_sum(node.base)


def _contains_sum(node: Expression) -> bool:
    is_sum = isinstance(node, Sum) and bool(free_symbols(node))
    return is_sum or any(map(_contains_sum, children(node)))


def _points(
    names: list[str], *, whole: bool = True, wide: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield values of the variables, always the same ones; many and `wide` ones for pieces."""
    from mpmath import mpf

    if not names:
        yield {}
        return
    source = random.Random(20)
    for sign in (1, -1) * (_WIDE_POINTS // 2) if wide else (1, 1, 1, -1, -1):
        point = {}
        for name in names:
            if whole and name in _INTEGER_NAMES:
                point[name] = mpf(source.randint(2, 400 if wide else 13))
            else:
                point[name] = sign * mpf(source.randint(300, 99_999 if wide else 3000)) / 1024
        yield point


def _same_at(first: Expression, second: Expression, point: Mapping[str, Any]) -> bool | None:
    """Compare at one point: None where a side is undefined, or not real though x < 0."""
    is_negative = any(value < 0 for value in point.values())
    values = [_settled_value(each, point) for each in (first, second)]
    if any(value is None for value in values):
        return None
    if is_negative and any(_has_imaginary_part(value) for value in values):
        return None
    return bool(_distance(*values) < _power_of_ten(-_EQUAL))


def _settled_value(node: Expression, point: Mapping[str, Any]) -> Any:
    """Return the value on which two precisions agree; 0 for what vanishes with more digits."""
    rough, fine = (_value(node, point, digits) for digits in (_ROUGH_DIGITS, _FINE_DIGITS))
    if rough is None or fine is None:
        return None
    if _distance(rough, fine) < _power_of_ten(-_SETTLED):
        return fine
    return fine * 0 if abs(fine) < _power_of_ten(-_EQUAL) else None


def _has_imaginary_part(value: Any) -> bool:
    return bool(abs(value.imag) > abs(value) * _power_of_ten(-_SETTLED))


def _power_of_ten(power: int) -> Any:
    from mpmath import mpf

    return mpf(10) ** power


def _distance(first: Any, second: Any) -> Any:
    """Return the relative difference; 0 between zeros."""
    from mpmath import workdps

    with workdps(_FINE_DIGITS):
        scale = max(abs(first), abs(second))
        return abs(first - second) / scale if scale > 0 else scale


def _value(node: Expression, point: Mapping[str, Any], digits: int) -> Any:
    """Evaluate; None where the formula is undefined."""
    import mpmath
    from mpmath.libmp import NoConvergence

    with mpmath.workdps(digits):
        try:
            value = _Evaluation(point).evaluate(node)
        except (ArithmeticError, ValueError, TypeError, NoConvergence):
            return None
        value = mpmath.mpmathify(value)
        return value if mpmath.isfinite(value) else None


class _Evaluation:
    """One pass over a tree at one point."""

    def __init__(self, point: Mapping[str, Any]) -> None:
        import mpmath

        self._mp: Any = mpmath.mp
        self._point = dict(point)

    def evaluate(self, node: Expression) -> Any:
        """Return the value; raises what mpmath raises."""
        mp = self._mp
        if isinstance(node, Number):
            return mp.mpf(node.value.numerator) / node.value.denominator
        if isinstance(node, Symbol):
            return self._point[node.name]
        if isinstance(node, Constant):
            return {"pi": mp.pi, "e": mp.e, "i": mp.j, "infinity": mp.nan}[node.name] * 1
        if isinstance(node, Sum):
            return mp.fsum(self.evaluate(term) for term in node.terms)
        if isinstance(node, Product):
            return mp.fprod(self.evaluate(factor) for factor in node.factors)
        if isinstance(node, Power):
            return self._power(node)
        return self._call(node)

    def _power(self, node: Power) -> Any:
        base = self.evaluate(node.base)
        exponent = exact_value(node.exponent)
        if exponent is None:
            return self._mp.power(base, self.evaluate(node.exponent))
        if exponent.denominator == 1:
            return base ** int(exponent)
        if exponent.denominator % 2 and self._mp.im(base) == 0 and self._mp.re(base) < 0:
            # The real root, as in a cube root of -8.
            size = (-base) ** (self._mp.mpf(exponent.numerator) / exponent.denominator)
            return -size if exponent.numerator % 2 else size
        return self._mp.power(base, self._mp.mpf(exponent.numerator) / exponent.denominator)

    def _call(self, node: Call) -> Any:
        if node.name in ("sum", "product"):
            return self._repeated(node)
        values = [self.evaluate(argument) for argument in node.arguments]
        mp = self._mp
        if node.name == "log":
            return mp.log(values[0]) / (mp.log(values[1]) if len(values) > 1 else 1)
        if node.name in ("floor", "ceil"):
            return self._rounded(node.name, values[0])
        functions = {
            "abs": abs,
            "factorial": mp.factorial,
            "binomial": mp.binomial,
            **{f"arc{name}": getattr(mp, f"a{name}") for name in ("sin", "cos", "tan", "cot")},
        }
        function = functions.get(node.name) or getattr(mp, node.name)
        return function(*values)

    def _rounded(self, name: str, value: Any) -> Any:
        """Round, but take a value next to a whole number for that number."""
        near = self._mp.nint(value)
        if abs(value - near) < self._mp.mpf(10) ** (10 - self._mp.dps):
            return near
        return self._mp.floor(value) if name == "floor" else self._mp.ceil(value)

    def _repeated(self, node: Call) -> Any:
        index, low, high, body = node.arguments
        if not isinstance(index, Symbol):
            raise TypeError("an index must be a variable")
        first, last = (self.evaluate(bound) for bound in (low, high))
        if first != int(first) or last != int(last) or last - first > _MAX_TERMS:
            raise ValueError("the bounds must be whole numbers near each other")
        outer = self._point.get(index.name)
        values = []
        for number in range(int(first), int(last) + 1):
            self._point[index.name] = self._mp.mpf(number)
            values.append(self.evaluate(body))
        self._point.pop(index.name, None)
        if outer is not None:
            self._point[index.name] = outer
        return self._mp.fsum(values) if node.name == "sum" else self._mp.fprod(values)
