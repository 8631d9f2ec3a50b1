"""Equations, definitions and inequalities between formulas."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from rewards.mathematics import probes
from rewards.mathematics.decision import Decision, Mode, different, equal, undecided
from rewards.mathematics.expressions import (
    Call,
    Expression,
    Power,
    Product,
    Sum,
    Symbol,
    add,
    children,
    free_symbols,
    negate,
)
from rewards.mathematics.fingerprint import PRIME, Undefined, exact_value, fingerprint
from rewards.mathematics.forms import Relation, Structure
from rewards.mathematics.numbers import exact_number
from rewards.mathematics.parser import parse
from rewards.mathematics.size import TooBig, refuse_too_big
from rewards.mathematics.structure import read_structure
from rewards.mathematics.tokens import Unparsed
from rewards.mathematics.values import MAX_CHEAP_WORK, compare_values

Compare = Callable[[Structure, Structure, Mode], Decision]

_NAME = re.compile(
    r"(?!(?:\\pi|e)$)"
    r"(?:\\[a-zA-Z]+|[A-Z]{1,4}|[a-z]|[a-zA-Z]{4,}|"
    r"\\text\{[^{}]*\})(?:_(?:\{[^{}]*\}|\\?[a-zA-Z]+|\d))?(?:\([a-zA-Z, ]*\))?"
    r"|\([a-zA-Z](?:,[a-zA-Z])+\)|\\frac\{d[a-zA-Z]?\}\{d[a-zA-Z]\}"
)
_FUNCTION_OR_Y = re.compile(r"[a-zA-Z]\([k-z]\)|y")
_VARIABLE = re.compile(r"(?!e$|\\pi$)(?:[a-zA-Z]|\\[a-zA-Z]+)")
_ARGUMENT = re.compile(r"[a-zA-Z]\(([a-zA-Z])\)")
_LETTER = re.compile(r"(?<![a-zA-Z\\])[a-z](?![a-zA-Z])|(?<=\d)[a-z]")
_VARIABLES = frozenset("xyztn")
_TRIGONOMETRIC = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_MAX_TRIED = 16
"""As large as the size guard takes variables to be."""
_VARIANTS = 3
_OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def is_definition(relation: Relation) -> bool:
    """Say whether an equation names a value: `x=5`, `f(x)=2x`, `a_n=2n-1`, `(x,y)=(1,2)`."""
    return relation.is_equation and _NAME.fullmatch(relation.members[0]) is not None


def are_of_different_variables(relations: Sequence[Relation]) -> bool:
    """Say whether definitions give several unknowns, as `x=1,y=2` does and `x_1=1,x_2=2` not."""
    stems = {relation.members[0].partition("_")[0] for relation in relations}
    return all(map(is_definition, relations)) and len(stems) > 1


def by_name(items: Sequence[Structure], others: Sequence[Structure]) -> list[Structure]:
    """Order `y=2, x=3` by the names, for comparison with values that have none."""
    named = {
        item.members[0]: item
        for item in items
        if isinstance(item, Relation) and is_definition(item)
    }
    if len(named) < len(items) or any(isinstance(other, Relation) for other in others):
        return list(items)
    return [named[name] for name in sorted(named)]


def states_a_value(relation: Relation) -> bool:
    r"""Say whether an equation gives the value of its left side, and is not one to be solved.

    `m+n=7`, `\sin x=0.6` and `A=\pi r^2=9\pi` do; `2x=5`, `x^2-5x+6=0` and `f(y)=x` don't.
    """
    exact = _exact_members(relation)
    if len(exact) < 2 or _VARIABLE.fullmatch(exact[-1]):
        return True
    value = value_of(relation)
    result = exact_number(value)
    if not _NAME.fullmatch(exact[0]):
        return not _is_to_be_solved(exact[0], result)
    if result == 0 and any(_is_to_be_solved(member, result) for member in exact[1:-1]):
        return False
    argument = _ARGUMENT.fullmatch(exact[0])
    letters = set(_LETTER.findall(value)) & _VARIABLES
    return argument is None or not letters or argument[1] in letters


def _is_to_be_solved(text: str, result: Fraction | None) -> bool:
    """Say whether a left side asks for its one variable, or (before 0) is more than bare names.

    Not if the variable may have the result as value: `z^3=-1` holds for -1.
    """
    try:
        node = parse(text)
    except Unparsed:
        return False
    names = free_symbols(node)
    if not names or isinstance(node, Symbol):
        return False
    if result == 0:
        parts = children(node) if isinstance(node, Sum | Product) else ()
        return not parts or not all(isinstance(part, Symbol) for part in parts)
    if len(names) > 1 or _is_trigonometric(node):
        return False
    is_small = result is not None and result.denominator == 1 and abs(result) <= _MAX_TRIED
    if result is None or not is_small:
        return True
    try:
        refuse_too_big(node)
        return exact_value(node, dict.fromkeys(names, result.numerator)) != result
    except (TooBig, Undefined):
        return True


def _is_trigonometric(node: Expression) -> bool:
    node = node.base if isinstance(node, Power) else node
    return isinstance(node, Call) and node.name in _TRIGONOMETRIC


def value_of(relation: Relation) -> str:
    """Return the last member before an approximation; of `x ~ 3.1` that, of `5=x` the first."""
    exact = _exact_members(relation)
    if len(exact) == 1 and len(relation.members) > 1 and _NAME.fullmatch(exact[0]):
        return relation.members[1]
    is_turned = _VARIABLE.fullmatch(exact[-1]) and not _NAME.fullmatch(exact[0])
    return exact[0] if is_turned and len(exact) == 2 else exact[-1]


def inner_values(relation: Relation) -> list[str]:
    """Return the members of a chain that are numbers too, and so must agree with the last."""
    found = []
    first, *rest = _exact_members(relation)[:-1] or ("",)
    for member in rest if _NAME.fullmatch(first) else [first, *rest]:
        try:
            if not free_symbols(parse(member)):
                found.append(member)
        except Unparsed:
            continue
    return found


def _exact_members(relation: Relation) -> tuple[str, ...]:
    end = relation.operators.index("~") if "~" in relation.operators else len(relation.operators)
    return relation.members[: end + 1]


def compare_relations(
    expected: Relation, given: Relation, mode: Mode, compare: Compare | None = None
) -> Decision:
    """Compare two equations, or two inequalities that no variable stands alone in."""
    if expected.is_equation != given.is_equation:
        return different("structure", "kind")
    if expected.is_equation and compare is not None:
        named = _compare_definitions(expected, given, mode, compare)
        if named is not None:
            return named
    return _compare_sides(expected, given, mode)


def _compare_definitions(
    expected: Relation, given: Relation, mode: Mode, compare: Compare
) -> Decision | None:
    """Compare what is defined; None if the names differ and it is not a function's value twice."""
    first, second = expected.members[0], given.members[0]
    is_named = is_definition(expected) and is_definition(given)
    is_function = all(_FUNCTION_OR_Y.fullmatch(name) for name in (first, second))
    if (is_named and (first == second or is_function)) or first == second:
        ours, theirs = value_of(expected), _with_argument(value_of(given), second, first)
        return compare(read_structure(ours), read_structure(theirs), mode)
    return None


def _with_argument(text: str, name: str, wanted: str) -> str:
    """Rename the argument in what defines `f(t)` to that of `f(x)`, unless it is taken."""
    have, want = _ARGUMENT.fullmatch(name), _ARGUMENT.fullmatch(wanted)
    if have is None or want is None or have[1] == want[1] or want[1] in text:
        return text
    letter = re.compile(rf"\\[a-zA-Z]+|{have[1]}")
    return letter.sub(lambda match: want[1] if match.group() == have[1] else match.group(), text)


def _compare_sides(expected: Relation, given: Relation, mode: Mode) -> Decision:
    """Compare as left - right = 0, up to a factor; for inequalities a positive one."""
    if len(expected.operators) != 1 or len(given.operators) != 1:
        return _compare_members(expected, given, mode)
    operator, other = expected.operators[0], given.operators[0]
    try:
        first, second = _difference(expected), _difference(given)
    except Unparsed:
        return _compare_members(expected, given, mode)
    if other != operator:
        if _OPPOSITE.get(operator) != other:
            return different("structure", "operator")
        second = negate(second)
    return _compare_differences(first, second, operator, mode)


def _compare_differences(
    first: Expression, second: Expression, operator: str, mode: Mode
) -> Decision:
    try:
        work = refuse_too_big(first, second)
        if mode.is_cheap and work * _VARIANTS > MAX_CHEAP_WORK:
            return undecided("needs_time", "size_guard")
        is_same = _is_proportional(first, second)
    except TooBig:
        return different("size_guard", "too_big")
    except Undefined:
        return different("exact", "undefined")
    if is_same is False or (is_same and operator in ("=", "!=", "~")):
        return equal("exact") if is_same else different("exact")
    if mode.is_cheap:
        return undecided("needs_probe", "exact")
    is_probed = probes.are_proportional(first, second, positive=operator in _OPPOSITE)
    if is_probed is None:
        return undecided("undecided", "probe")
    return equal("probe") if is_probed else different("probe")


def _difference(relation: Relation) -> Expression:
    return add(parse(relation.members[0]), negate(parse(relation.members[1])))


def _is_proportional(first: Expression, second: Expression) -> bool | None:
    """Say by residues whether two formulas differ by a constant factor; None if they can't."""
    pairs = [(fingerprint(first, n), fingerprint(second, n)) for n in range(_VARIANTS)]
    (a, b), *rest = pairs
    if a.value == 0 or b.value == 0:
        return a.value == b.value
    if all((a.value * d.value - b.value * c.value) % PRIME == 0 for c, d in rest):
        return True
    return False if all(each.is_exact for pair in pairs for each in pair) else None


def _compare_members(expected: Relation, given: Relation, mode: Mode) -> Decision:
    """Compare member by member, where sides can't be read as formulas."""
    if expected.operators != given.operators:
        return different("structure", "operator")
    for first, second in zip(expected.members, given.members, strict=True):
        decision = compare_values(first, second, mode)
        if not decision.is_equal:
            return decision
    return equal("structure")
