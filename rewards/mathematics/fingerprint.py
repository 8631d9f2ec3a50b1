r"""Exact comparison without big numbers: formulas as residues modulo one large prime.

Reading a formula in the integers modulo p keeps sums, products and whole powers, so different
residues prove different values, and equal ones prove equality but for a chance
of 2^-134. Variables,
pi and e become fixed scattered residues. Square roots of numbers keep their algebra: p is 1
modulo 8 and modulo every odd prime up to 101, so -1 and these primes have roots modulo p.

What has no such reading (a sine, x^n) becomes a residue scattered from its arguments' residues:
then equal still means equal, but different proves nothing (`Residue.is_exact` is False).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from math import isqrt

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
)

PRIME = 32600731010189630526008864363271030829801
"""1 + 35 * 8 * 3 * 5 * 7 * ... * 101."""
_MAX_FACTORED = 10**6
"""Largest integer under a square root that is taken apart into primes."""


class Undefined(ValueError):
    """The formula has no value: it divides by zero."""


@dataclass(frozen=True, slots=True)
class Residue:
    """What a formula becomes modulo PRIME."""

    value: int
    is_exact: bool = True
    """Whether a different residue proves a different value."""


def fingerprint(node: Expression, variant: int = 0) -> Residue:
    """Return the formula's residue; variables take other values in another variant.

    Call `size.refuse_too_big` before. Raises Undefined for a division by zero.
    """
    return _read(node, variant, {})


def exact_value(node: Expression, indices: Mapping[str, int] | None = None) -> Fraction | None:
    """Return the value of a rational formula without variables; None for others.

    `indices` are the values of the sums' indices around it. Call `size.refuse_too_big` before.
    """
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Symbol):
        index = (indices or {}).get(node.name)
        return None if index is None else Fraction(index)
    if not isinstance(node, Sum | Product | Power):
        return _exact_call(node, indices) if isinstance(node, Call) else None
    values = [exact_value(part, indices) for part in children(node)]
    if any(value is None for value in values):
        return None
    return _exactly(node, [value for value in values if value is not None])


def _exactly(node: Expression, values: list[Fraction]) -> Fraction | None:
    if isinstance(node, Sum):
        return sum(values, Fraction(0))
    if isinstance(node, Power):
        base, exponent = values
        if exponent.denominator != 1:
            return None
        if base == 0 and exponent < 0:
            raise Undefined("division by zero")
        return base**exponent.numerator
    product = Fraction(1)
    for value in values:
        product *= value
    return product


def _exact_call(node: Call, indices: Mapping[str, int] | None) -> Fraction | None:
    if node.name not in ("abs", "floor", "ceil"):
        return None
    value = exact_value(node.arguments[0], indices)
    if value is None or node.name == "abs":
        return value if value is None else abs(value)
    return Fraction(value.__floor__() if node.name == "floor" else value.__ceil__())


def _read(node: Expression, variant: int, indices: Mapping[str, int]) -> Residue:
    if isinstance(node, Number):
        return _of_fraction(node.value)
    if isinstance(node, Symbol):
        if node.name in indices:
            return Residue(indices[node.name] % PRIME)
        return Residue(_scatter("symbol", node.name, variant))
    if isinstance(node, Constant):
        return Residue(_root_of_prime(-1)) if node.name == "i" else Residue(_scatter(node.name))  # type: ignore[arg-type]
    if isinstance(node, Sum):
        terms = [_read(term, variant, indices) for term in node.terms]
        return Residue(sum(t.value for t in terms) % PRIME, all(t.is_exact for t in terms))
    if isinstance(node, Product):
        value, is_exact = 1, True
        for factor in node.factors:
            each = _read(factor, variant, indices)
            value, is_exact = value * each.value % PRIME, is_exact and each.is_exact
        return Residue(value, is_exact)
    if isinstance(node, Power):
        return _read_power(node, variant, indices)
    return _read_call(node, variant, indices)


def _read_power(node: Power, variant: int, indices: Mapping[str, int]) -> Residue:
    exponent = exact_value(node.exponent, indices)
    if exponent is not None and exponent.denominator == 1:
        base = _read(node.base, variant, indices)
        if base.value == 0 and exponent < 0:
            raise Undefined("division by zero")
        return Residue(pow(base.value, exponent.numerator, PRIME), base.is_exact)
    if exponent is not None and exponent.denominator == 2:
        root = _square_root(exact_value(node.base, indices))
        if root is not None:
            return Residue(pow(root, exponent.numerator, PRIME))
    base = _read(node.base, variant, indices)
    power = _read(node.exponent, variant, indices)
    return Residue(_scatter("power", base.value, power.value), is_exact=False)


def _read_call(node: Call, variant: int, indices: Mapping[str, int]) -> Residue:
    if node.name in ("sum", "product"):
        return _read_repeated(node, variant, indices)
    values = [exact_value(argument, indices) for argument in node.arguments]
    whole = [value.numerator for value in values if value is not None and value.denominator == 1]
    if node.name == "factorial" and len(whole) == 1 and whole[0] >= 0:
        return Residue(_factorial(whole[0]))
    if node.name == "binomial" and len(whole) == 2 and min(whole) >= 0:
        return Residue(_binomial(*whole))
    exact = _exact_call(node, indices)
    if exact is not None:
        return _of_fraction(exact)
    parts = [_read(argument, variant, indices).value for argument in node.arguments]
    return Residue(_scatter(node.name, *parts), is_exact=False)


def _read_repeated(node: Call, variant: int, indices: Mapping[str, int]) -> Residue:
    index, low, high, body = node.arguments
    first, last = exact_value(low, indices), exact_value(high, indices)
    name = index.name if isinstance(index, Symbol) else ""
    if first is None or last is None or first.denominator != 1 or last.denominator != 1:
        parts = [_read(part, variant, indices) for part in (low, high, body)]
        return Residue(_scatter(node.name, *(part.value for part in parts)), is_exact=False)
    total, is_exact = (0 if node.name == "sum" else 1), True
    for number in range(first.numerator, last.numerator + 1):
        each = _read(body, variant, {**indices, name: number})
        total = (total + each.value if node.name == "sum" else total * each.value) % PRIME
        is_exact = is_exact and each.is_exact
    return Residue(total, is_exact)


def _of_fraction(value: Fraction) -> Residue:
    return Residue(value.numerator * _inverse(value.denominator) % PRIME)


def _inverse(number: int) -> int:
    if number % PRIME == 0:
        raise Undefined("division by zero")
    return pow(number, -1, PRIME)


@lru_cache(maxsize=1024)
def _factorial(number: int) -> int:
    product = 1
    for factor in range(2, number + 1):
        product = product * factor % PRIME
    return product


@lru_cache(maxsize=1024)
def _binomial(upper: int, lower: int) -> int:
    if lower > upper:
        return 0
    top = bottom = 1
    for step in range(min(lower, upper - lower)):
        top, bottom = top * (upper - step) % PRIME, bottom * (step + 1) % PRIME
    return top * _inverse(bottom) % PRIME


@lru_cache(maxsize=8192)
def _scatter(*key: str | int) -> int:
    """Return a fixed residue without relation to any other."""
    digest = blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return int.from_bytes(digest, "big") % PRIME


def _square_root(value: Fraction | None) -> int | None:
    """Return the root's residue; None if there is no reading that keeps its algebra."""
    if value is None:
        return None
    if value == 0:
        return 0
    radicand = abs(value.numerator * value.denominator)
    root = isqrt(radicand)
    if root * root != radicand:
        if radicand > _MAX_FACTORED:
            return None
        root = 1
        for prime, power in _factors(radicand):
            of_prime = _root_of_prime(prime)
            if of_prime is None:
                return None
            root = root * pow(of_prime, power, PRIME) % PRIME
    if value < 0:
        root = root * (_root_of_prime(-1) or 0) % PRIME
    return root * _inverse(value.denominator) % PRIME


@lru_cache(maxsize=1024)
def _factors(number: int) -> tuple[tuple[int, int], ...]:
    """Return primes and powers by trial division; at most 1000 trials."""
    factors: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            factors[prime] = factors.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        factors[number] = factors.get(number, 0) + 1
    return tuple(factors.items())


@lru_cache(maxsize=1024)
def _root_of_prime(number: int) -> int | None:
    """Return one square root modulo PRIME, always the same (Tonelli and Shanks); None if none."""
    number %= PRIME
    if pow(number, (PRIME - 1) // 2, PRIME) != 1:
        return None
    odd, twos = PRIME - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    generator = pow(next(z for z in range(2, 1000) if not _has_root(z)), odd, PRIME)
    root, rest = pow(number, (odd + 1) // 2, PRIME), pow(number, odd, PRIME)
    while rest != 1:
        order, square = 0, rest
        while square != 1:
            square, order = square * square % PRIME, order + 1
        step = pow(generator, 1 << (twos - order - 1), PRIME)
        generator, twos = step * step % PRIME, order
        root, rest = root * step % PRIME, rest * generator % PRIME
    return root


def _has_root(number: int) -> bool:
    return pow(number, (PRIME - 1) // 2, PRIME) == 1
