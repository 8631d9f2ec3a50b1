r"""A normalised formula, TeX or plain, as a syntax tree. Own code: nothing is ever evaluated.

What it doesn't know, it refuses as a whole: no part of a formula is ever taken for all of it.
Letters are variables but e, i and pi; `2\frac{1}{3}` is a mixed number; `1/2x` is `(1/2)x`.
"""

from fractions import Fraction
from functools import lru_cache

from rewards.mathematics.cursor import MAX_DEPTH, Cursor
from rewards.mathematics.expressions import (
    HALF,
    MINUS_ONE,
    Call,
    Constant,
    Expression,
    FunctionName,
    Number,
    Power,
    Product,
    Symbol,
    add,
    depth,
    divide,
    multiply,
    negate,
    number,
)
from rewards.mathematics.literals import read_derivative, read_number
from rewards.mathematics.names import (
    DECORATIONS,
    ELLIPSES,
    FACTOR_STARTS,
    FUNCTIONS,
    GREEK,
    INVERSES,
    PAIRS,
    UNKNOWN_FUNCTIONS,
)
from rewards.mathematics.tokens import Token, Unparsed, tokenize

_CLOSING = {"(": ")", "[": "]"}
_DEGREE = divide(Constant("pi"), number(180))
_MAX_LEVELS = 4 * MAX_DEPTH
"""Of the tree: brackets, each with a sum of products of powers, and what follows a factor."""


@lru_cache(maxsize=1024)
def parse(text: str) -> Expression:
    """Return the tree; raises Unparsed."""
    parser = _Parser(tokenize(text))
    node = parser.inside()
    parser.expect_end()
    if depth(node) > _MAX_LEVELS:
        raise Unparsed(f"a tree of more than {_MAX_LEVELS} levels")
    return node


def _remainder(number: Expression, modulus: Expression) -> Number:
    if not isinstance(number, Number) or not isinstance(modulus, Number) or modulus.value <= 0:
        raise Unparsed("a remainder of what is no plain number")
    return Number(number.value % modulus.value)


class _Parser(Cursor):
    """Recursive descent over tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._open_bars = 0
        self._indices: list[str] = []
        """Names bound by the sums around: there, i is an index."""

    def sum(self) -> Expression:
        """Terms with signs between them."""
        terms = [self._product()]
        while self.mark() in ("+", "-"):
            is_minus = self.take().text == "-"
            term = self._product()
            terms.append(negate(term) if is_minus else term)
        return add(*terms)

    def inside(self) -> Expression:
        r"""Read what braces may hold: a sum, `n \choose k`, or `a \over b`."""
        node = self.sum()
        command = self.command()
        if command not in ("choose", "over"):
            return node
        self.take()
        other = self.sum()
        return divide(node, other) if command == "over" else Call("binomial", (node, other))

    def _product(self) -> Expression:
        factors = [self._signed()]
        while True:
            if self.mark() == "*":
                self.take()
                factors.append(self._signed())
            elif self.mark() == "/":
                self.take()
                factors.append(Power(self._signed(), MINUS_ONE))
            elif self._starts_factor():
                self._refuse_adjacent_number()
                factors.append(self._power())
            elif self.command() == "bmod":
                self.take()
                factors = [_remainder(multiply(*factors), self._signed())]
            else:
                return multiply(*factors)

    def _refuse_adjacent_number(self) -> None:
        """`4 1` and `x2` are no products."""
        before, token = self.peek(-1), self.peek()
        if token and before and token.kind == "number" and before.kind in ("number", "letter"):
            raise Unparsed(f"{token.text!r} follows {before.text!r}")

    def _signed(self) -> Expression:
        sign = self.mark()
        if sign in ("+", "-"):
            self.take()
            self.enter()
            node = self._signed()
            self.leave()
            return negate(node) if sign == "-" else node
        return self._power()

    def _power(self) -> Expression:
        node = self._atom()
        while True:
            if self.mark() == "!":
                self.take()
                if self.mark() == "!":
                    raise Unparsed("double factorials are not read")
                node = Call("factorial", (node,))
            elif self.mark() == "^":
                self.take()
                node = self._raised(node)
            else:
                return node

    def _raised(self, base: Expression) -> Expression:
        if self.command() == "circ":
            self.take()
            return Product((base, _DEGREE))
        return Power(base, self._exponent())

    def _exponent(self) -> Expression:
        self.enter()
        if self.mark() == "{":
            exponent = self._group("}")
        elif self.mark() in ("-", "+"):
            exponent = self._signed()
        else:
            exponent = self._atom()
        if self.mark() == "^":
            self.take()
            exponent = self._raised(exponent)
        self.leave()
        return exponent

    def _atom(self) -> Expression:
        self.enter()
        node = self._any_atom(self.take())
        self.leave()
        return node

    def _any_atom(self, token: Token) -> Expression:
        if token.kind == "number":
            return read_number(self, token)
        if token.kind == "letter":
            return self._letter(token.text)
        if token.kind == "command":
            return self._of_command(token.text)
        if token.text in _CLOSING:
            return self._until(_CLOSING[token.text])
        if token.text == "{":
            self.give_back()
            return self._group("}")
        if token.text == "|":
            self._open_bars += 1
            node = self.sum()
            self._open_bars -= 1
            self.expect("|")
            return Call("abs", (node,))
        raise Unparsed(f"{token.text!r} was not expected")

    def _letter(self, name: str) -> Expression:
        if self.mark() == "_":
            self.take()
            return Symbol(f"{name}_{self.raw_group()}")
        if name in self._indices:
            return Symbol(name)
        if name == "e":
            return Constant("e")
        if name == "i":
            return Constant("i")
        if name in UNKNOWN_FUNCTIONS and self.mark() == "(":
            return Symbol(f"{name}({self.raw_group()})")
        return Symbol(name)

    def _of_command(self, name: str) -> Expression:
        if name in FUNCTIONS:
            return self._function(name)
        if name in GREEK:
            return self._letter(name)
        if name == "text":
            return self._letter_in_text()
        if name in DECORATIONS:
            return self._letter(f"{name} {self.raw_group()}")
        if name in PAIRS:
            closing, function = PAIRS[name]
            node = self.sum()
            if self.take().text != closing:
                raise Unparsed(f"\\{name} is not closed")
            return Call(function, (node,))  # type: ignore[arg-type]
        if name in ("sum", "prod"):
            return self._big_operator("sum" if name == "sum" else "product")
        return self._of_fixed_command(name)

    def _letter_in_text(self) -> Expression:
        r"""Read `\text{x}`: the variable, as `\mathbf{x}` is."""
        name = self.raw_group()
        if len(name) != 1 or not name.isalpha():
            raise Unparsed(f"{name!r:.40} is a word")
        return self._letter(name)

    def _of_fixed_command(self, name: str) -> Expression:
        if name in ELLIPSES:
            return Symbol("dots")
        if name == "pi":
            return Constant("pi")
        if name == "infty":
            return Constant("infinity")
        if name == "frac":
            derivative = read_derivative(self)
            if derivative is not None:
                return derivative
            top = self._argument()
            return divide(top, self._argument())
        if name == "binom":
            upper = self._argument()
            return Call("binomial", (upper, self._argument()))
        if name == "exp":
            return Power(Constant("e"), self._function_argument())
        if name == "sqrt":
            return self._root()
        if name == "cbrt":
            return Power(self._function_argument(), number(Fraction(1, 3)))
        raise Unparsed(f"\\{name} is not read")

    def _root(self) -> Expression:
        exponent: Expression = HALF
        if self.mark() == "[":
            self.take()
            exponent = Power(self._until("]"), MINUS_ONE)
        if self.mark() == "(":
            self.take()
            return Power(self._until(")"), exponent)
        if self.mark() == "{":
            return Power(self._group("}"), exponent)
        return Power(self._atom(), exponent)

    def _function(self, name: str) -> Expression:
        base: Expression | None = number(10) if name == "lg" else None
        power: Expression | None = None
        while self.mark() in ("_", "^"):
            if self.take().text == "_":
                base = self._argument()
            else:
                power = self._exponent()
        if base is not None and FUNCTIONS[name] != "log":
            raise Unparsed(f"\\{name} with a subscript")
        function = FUNCTIONS[name]
        if power == MINUS_ONE:
            if name not in INVERSES:
                raise Unparsed(f"\\{name}^{{-1}} is ambiguous")
            function, power = INVERSES[name], None
        argument = self._function_argument()
        call = Call(function, (argument,) if base is None else (argument, base))
        return call if power is None else Power(call, power)

    def _function_argument(self) -> Expression:
        r"""Read `(x)`, `{x}` or the factors that follow: `\sin 2x`, up to the next function."""
        if self.mark() in ("(", "{"):
            node = self._atom()
        else:
            factors = [self._signed()]
            while self._starts_factor() and self.command() not in FUNCTIONS:
                factors.append(self._power())
            node = multiply(*factors)
        return node

    def _big_operator(self, name: FunctionName) -> Expression:
        self.expect("_")
        self.expect("{")
        index = self.take()
        if index.kind != "letter":
            raise Unparsed(f"{index.text!r} is no index")
        self.expect("=")
        low = self._until("}")
        self.expect("^")
        high = self._exponent()
        self._indices.append(index.text)
        body = self._product()
        self._indices.pop()
        return Call(name, (Symbol(index.text), low, high, body))

    def _argument(self) -> Expression:
        r"""Read `{...}` or, as TeX does, one digit, letter or command: `\frac12`."""
        token = self.peek()
        if token is None or token.kind != "number":
            return self._atom()
        return number(self.take_digit())

    def _group(self, closing: str) -> Expression:
        self.take()
        bars, self._open_bars = self._open_bars, 0
        node = self.inside()
        self._open_bars = bars
        self.expect(closing)
        return node

    def _until(self, closing: str) -> Expression:
        bars, self._open_bars = self._open_bars, 0
        node = self.sum()
        self._open_bars = bars
        self.expect(closing)
        return node

    def _starts_factor(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind == "mark":
            return token.text in "({" or (token.text == "|" and not self._open_bars)
        if token.kind == "command":
            return token.text in FACTOR_STARTS
        return True
