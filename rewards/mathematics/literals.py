"""Numbers and derivatives: what the parser reads off the tokens without looking inside."""

from fractions import Fraction

from rewards.mathematics.cursor import Cursor
from rewards.mathematics.expressions import Number, Symbol
from rewards.mathematics.numbers import exact_number
from rewards.mathematics.tokens import Token, Unparsed


def read_number(cursor: Cursor, token: Token) -> Number:
    r"""Read a number that was taken: `0.\overline{3}` and `2\frac{1}{3}` are one each."""
    if cursor.mark() == "_":
        raise Unparsed("a number with its base inside a formula")
    repeating = _repeating(cursor, token)
    if repeating is not None:
        return repeating
    value = Fraction(token.text.rstrip("."))
    if token.text.isdigit():
        part = _fraction_of_mixed_number(cursor)
        if part is not None:
            return Number(value + part)
    return Number(value)


def _repeating(cursor: Cursor, token: Token) -> Number | None:
    if "." not in token.text or cursor.command() not in ("overline", "bar", "dot"):
        return None
    command = cursor.take().text
    digits = cursor.raw_group()
    value = exact_number(f"{token.text}\\{command}{{{digits}}}")
    if value is None:
        raise Unparsed(f"{digits!r:.40} is no period of a decimal")
    return Number(value)


def _fraction_of_mixed_number(cursor: Cursor) -> Fraction | None:
    r"""Take `\frac{1}{3}` or ` 1/3` behind a whole number; None, taking nothing, otherwise."""
    rest = cursor.next_tokens(7)
    texts = [token.text for token in rest]
    if texts[:2] == ["frac", "{"] and texts[3:5] == ["}", "{"] and texts[6:] == ["}"]:
        top, low, length = texts[2], texts[5], 7
    elif len(texts) >= 3 and rest[0].is_after_space and texts[1] == "/":
        top, low, length = texts[0], texts[2], 3
    else:
        return None
    if not (top.isdigit() and low.isdigit() and 0 < int(top) < int(low)):
        return None
    cursor.next_tokens(length, take=True)
    return Fraction(int(top), int(low))


def read_derivative(cursor: Cursor) -> Symbol | None:
    r"""Take the `{dy}{dx}` of `\frac{dy}{dx}`, a name; None, taking nothing, else."""
    texts = "".join(token.text for token in cursor.next_tokens(8))
    end = len("{dy}{dx}") if texts[2:3] != "}" else len("{d}{dx}")
    if not texts.startswith("{d") or texts[end - 4 : end - 2] != "{d" or texts[end - 1] != "}":
        return None
    cursor.next_tokens(end, take=True)
    return Symbol(texts[:end])
