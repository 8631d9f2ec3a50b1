"""The syntax tree of a formula: six kinds of node, all values.

Differences, quotients and roots are sums, products and powers; decimals are exact fractions.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

FunctionName = Literal[
    "abs", "arccos", "arccot", "arcsin", "arctan", "binomial", "ceil", "cos", "cosh", "cot", "csc",
    "factorial", "floor", "log", "product", "sec", "sin", "sinh", "sum", "tan", "tanh",
]  # fmt: skip
"""`log` may have a base as second argument; `sum` and `product` have (index, from, to, body)."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Constant:
    """pi, e, i or infinity."""

    name: Literal["pi", "e", "i", "infinity"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, with its subscript: `x`, `a_{n}`, `alpha`."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms, at least two."""

    terms: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Factors, at least two."""

    factors: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A base and an exponent."""

    base: "Expression"
    exponent: "Expression"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments."""

    name: FunctionName
    arguments: tuple["Expression", ...]


Expression: TypeAlias = Number | Constant | Symbol | Sum | Product | Power | Call

MINUS_ONE = Number(Fraction(-1))
HALF = Number(Fraction(1, 2))


def number(value: int | Fraction) -> Number:
    """Make a number."""
    return Number(Fraction(value))


def add(*terms: Expression) -> Expression:
    """Make a sum; of one term, the term."""
    return terms[0] if len(terms) == 1 else Sum(terms)


def multiply(*factors: Expression) -> Expression:
    """Make a product; of one factor, the factor."""
    return factors[0] if len(factors) == 1 else Product(factors)


def negate(node: Expression) -> Expression:
    """Make the negative; of a number, a number."""
    return Number(-node.value) if isinstance(node, Number) else Product((MINUS_ONE, node))


def divide(top: Expression, bottom: Expression) -> Expression:
    """Make a quotient."""
    return Product((top, Power(bottom, MINUS_ONE)))


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the nodes directly below."""
    if isinstance(node, Sum):
        return node.terms
    if isinstance(node, Product):
        return node.factors
    if isinstance(node, Power):
        return (node.base, node.exponent)
    return node.arguments if isinstance(node, Call) else ()


def free_symbols(node: Expression) -> frozenset[str]:
    """Return the names of the variables that no sum or product binds."""
    if isinstance(node, Symbol):
        return frozenset((node.name,))
    names: frozenset[str] = frozenset()
    for child in children(node):
        names |= free_symbols(child)
    if isinstance(node, Call) and node.name in ("sum", "product"):
        index, low, high, _ = node.arguments
        bound = free_symbols(index)
        names = (names - bound) | free_symbols(low) | free_symbols(high)
    return names


def depth(node: Expression) -> int:
    """Return how many levels a tree has; without recursion, so of any tree."""
    levels, level = 0, [node]
    while level:
        levels += 1
        level = [child for each in level for child in children(each)]
    return levels


def contains_infinity(node: Expression) -> bool:
    """Say whether infinity occurs anywhere."""
    return node == Constant("infinity") or any(map(contains_infinity, children(node)))
