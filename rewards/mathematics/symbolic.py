"""math-verify, for the few formulas that our parser doesn't read: integrals, limits, set-builders.

Only in a process that can be killed: sympy may take forever. `can_read` keeps from it whatever is
no formula or looks large.
"""

import logging
import re
from typing import Any

from rewards.mathematics.decision import Decision, different, equal, unusable

_MAX_CHARS = 400
_MAX_NESTING = 12
_DECIMALS = 50
"""At math-verify's own 15 and 6, small numbers such as 2^-99 and 2^-98 are equal."""
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_COMMANDS = frozenset({
    "frac", "sqrt", "pi", "infty", "int", "iint", "lim", "sum", "prod", "to", "log", "ln",
    "exp", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "binom", "alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda",
    "mu", "nu", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta",
    "Lambda", "Sigma", "Phi", "Psi", "Omega", "le", "ge", "ne", "in", "cup", "cap", "setminus",
    "emptyset", "begin", "end", "mathbb", "bar", "overline", "hat", "vec", "lfloor", "rfloor",
    "lceil", "rceil", "max", "min", "gcd", "bmod", "pmod", "mod", "partial", "prime",
})  # fmt: skip
_HEAVY = re.compile(
    r"\^\s*\{[^{}]*\^|\^\s*\{?[^{}]*\d{4}|\d{4,}\s*!|!\s*!|\)\s*\^\s*\{?\d{3}|\\(?:sum|prod)[^+]*\d{4}"
)
_ONLY_HERE = re.compile(r"\\(?:i+nt|lim|sum|prod|max|min|gcd|partial|[bp]?mod|begin)(?![a-zA-Z])")
"""What math-verify may read and our parser doesn't."""
_MISREAD = re.compile(r"\\frac ?\{d[a-zA-Z]?\}\{d[a-zA-Z]\}|(?<![\\a-zA-Z])[fgh]\(")
"""Derivatives and unknown functions, which it takes for products."""
_WORD = re.compile(r"(?<![\\a-zA-Z{])[a-zA-Z]{4,}")


def can_read(text: str) -> bool:
    """Say whether a formula may be given to math-verify: known commands only, nothing large."""
    if len(text) > _MAX_CHARS or not text.isascii() or not text.isprintable():
        return False
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    commands = set(_COMMAND.findall(text))
    return (
        depth == 0
        and deepest <= _MAX_NESTING
        and commands <= _COMMANDS
        and not _HEAVY.search(text)
        and not _WORD.search(text)
        and not _MISREAD.search(text)
    )


def is_promising(text: str) -> bool:
    """Say whether an answer that our parser doesn't read is worth a try."""
    return can_read(text) and _ONLY_HERE.search(text) is not None


def warm_up() -> None:
    """Import math-verify (about a second) before the first deadline starts."""
    import math_verify  # noqa: F401

    # It warns at every call that its own time limit is off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)


def compare(reference: str, answer: str) -> Decision:
    """Compare an answer with a reference that `can_read` let through."""
    from math_verify import verify

    parsed_reference = _parse(reference)
    if not parsed_reference:
        return unusable()
    parsed = _parse(answer) if can_read(answer) else []
    if not parsed:
        return different("symbolic", "unparsed")
    is_right = verify(
        parsed_reference,
        parsed,
        float_rounding=_DECIMALS,
        numeric_precision=_DECIMALS,
        timeout_seconds=None,
    )
    return equal("symbolic") if is_right else different("symbolic")


def _parse(text: str) -> list[Any]:
    """Parse a whole formula; empty if it can't be, also where a part of it could."""
    from math_verify import LatexExtractionConfig, parse

    # The process is the time limit: math-verify's own is a signal, which only a main thread can
    # take. Formulas only, without fallback: else it takes a number out of what it can't read.
    return parse(  # type: ignore[no-any-return]
        f"${text}$",
        [LatexExtractionConfig()],
        fallback_mode="no_fallback",
        extraction_mode="first_match",
        parsing_timeout=None,
    )
