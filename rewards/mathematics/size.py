"""The guard before anything is evaluated: how large could the numbers in a formula become?

Bounds are computed from the tree alone, in floats: a tower, a huge factorial or a long sum costs
as little as a small number, and is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

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

MAX_BITS = 262_144.0
"""Of one number: about 79,000 digits; 20000! still fits."""
MAX_TOTAL_BITS = 1_048_576.0
"""Of all numbers in a formula together."""
MAX_WORK = 50_000.0
"""Nodes to evaluate, those inside sums and products counted once a round."""
_EXACT_INTEGER_BITS = 64
_ROOT_WORK = 50.0
"""A square root of a number is taken apart into primes, each with a root of its own."""
_FACTORS_A_NODE = 10.0
_MAX_LOWER = 10_000


class TooBig(ValueError):
    """Evaluating the formula could take too long or too much memory."""


@dataclass(frozen=True, slots=True)
class Bits:
    """Upper bounds of log2 of a value's numerator and denominator."""

    top: float
    low: float = 0.0


_VARIABLE = Bits(4.0, 4.0)
"""Variables are probed at small numbers."""
_REAL = Bits(2.0, 0.0)
"""pi, e, i, sines, ..."""


def refuse_too_big(*nodes: Expression) -> float:
    """Return how much work evaluating the formulas is, in nodes; raise TooBig if out of proportion.

    The formulas share one limit of work.
    """
    guard = _Guard()
    for node in nodes:
        guard.measure(node, 1.0, {})
    return guard.work


class _Guard:
    """Walks trees once, adding up."""

    def __init__(self) -> None:
        self.work = 0.0
        self._total_bits = 0.0

    def measure(self, node: Expression, rounds: float, indices: Mapping[str, Bits]) -> Bits:
        """Bound a node's value; `rounds` is how often it is evaluated, `indices` those around."""
        self._spend(rounds)
        if isinstance(node, Call) and node.name in ("sum", "product"):
            bits = self._repeated(node, rounds, indices)
        elif isinstance(node, Symbol) and node.name in indices:
            bits = indices[node.name]
        else:
            below = [self.measure(child, rounds, indices) for child in children(node)]
            self._spend(rounds * _steps(node, below))
            bits = _combine(node, below)
        if not bits.top + bits.low <= MAX_BITS:
            raise TooBig("a number would have too many digits")
        self._total_bits += (bits.top + bits.low) * rounds
        if self._total_bits > MAX_TOTAL_BITS:
            raise TooBig("the numbers together would have too many digits")
        return bits

    def _spend(self, work: float) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise TooBig("a sum or product has too many terms")

    def _repeated(self, node: Call, rounds: float, indices: Mapping[str, Bits]) -> Bits:
        index, low, high, body = node.arguments
        spans = [self.measure(bound, rounds, indices) for bound in (low, high)]
        count = max(1.0, sum(_magnitude(span) for span in spans))
        name = index.name if isinstance(index, Symbol) else ""
        largest = Bits(max(span.top for span in spans))
        each = self.measure(body, rounds * count, {**indices, name: largest})
        if node.name == "product":
            return Bits(each.top * count, each.low * count)
        return Bits(each.top + each.low * count + log2(count) + 1, each.low * count)


def _steps(node: Expression, below: Sequence[Bits]) -> float:
    """Bound the work of one node beyond one step, in nodes: its root, factorial or binomial."""
    if isinstance(node, Power) and isinstance(node.exponent, Number):
        return _ROOT_WORK if node.exponent.value.denominator == 2 and below[0].top > 2 else 0.0
    if not isinstance(node, Call) or node.name not in ("factorial", "binomial"):
        return 0.0
    factors = min(map(_magnitude, below))
    if node.name == "binomial" and factors > _MAX_LOWER:
        raise TooBig(f"a binomial of more than {_MAX_LOWER} factors")
    return factors / _FACTORS_A_NODE


def _combine(node: Expression, below: Sequence[Bits]) -> Bits:
    if isinstance(node, Number):
        return Bits(_bits(abs(node.value.numerator)), _bits(node.value.denominator))
    if isinstance(node, Constant):
        return _REAL
    if isinstance(node, Symbol):
        return _VARIABLE
    if isinstance(node, Sum):
        low = sum(each.low for each in below)
        return Bits(max(each.top for each in below) + low + log2(len(below)) + 1, low)
    if isinstance(node, Product):
        return Bits(sum(each.top for each in below), sum(each.low for each in below))
    if isinstance(node, Power):
        return _power(node, *below)
    return _call(node, below)


def _power(node: Power, base: Bits, exponent: Bits) -> Bits:
    if isinstance(node.exponent, Number):
        times = abs(float(node.exponent.value)) if exponent.top < _EXACT_INTEGER_BITS else 2.0**64
    else:
        times = _magnitude(exponent)
    top, low = base.top * times, base.low * times
    if not isinstance(node.exponent, Number):  # its sign is not known
        return Bits(max(top, low), max(top, low))
    return Bits(low, top) if node.exponent.value < 0 else Bits(top, low)


def _call(node: Call, below: Sequence[Bits]) -> Bits:
    if node.name == "factorial":
        size = _magnitude(below[0])
        bits = size * log2(size + 2)
        return Bits(bits, bits) if below[0].low else Bits(bits)
    if node.name == "binomial":
        upper, lower = _magnitude(below[0]), _magnitude(below[1])
        return Bits(min(upper, lower * log2(upper + 2)) + 1)
    if node.name in ("abs", "floor", "ceil"):
        return Bits(below[0].top + 1, below[0].low)
    if node.name in ("sinh", "cosh", "tanh"):
        size = 2 * _magnitude(below[0])
        return Bits(size, size)
    if below[0].top + below[0].low > MAX_BITS / 64:
        raise TooBig(f"{node.name} of a huge number")
    return Bits(_bits(int(below[0].top + below[0].low)) + 2, 64.0)


def _magnitude(bits: Bits) -> float:
    """Bound the absolute value."""
    return float(2.0 ** min(bits.top, 1000.0))


def _bits(value: int) -> float:
    return log2(value) if value > 1 else float(value)
