"""A normalised formula as tokens, for the parser."""

import re
from dataclasses import dataclass
from typing import Literal


class Unparsed(ValueError):
    """The text is no formula that this package reads."""


@dataclass(frozen=True, slots=True)
class Token:
    r"""A piece of the text: `2.5`, `x`, `\frac` (kind command, text `frac`), `+`."""

    kind: Literal["number", "letter", "command", "mark"]
    text: str
    is_after_space: bool = False


WORDS = (
    "arcsin", "arccos", "arctan", "arccot", "sinh", "cosh", "tanh", "sqrt", "cbrt", "sin", "cos",
    "tan", "cot", "sec", "csc", "log", "exp", "abs", "floor", "ceil", "binom", "infty", "ln", "lg",
    "pi",
)  # fmt: skip
"""Names that stand for themselves without a backslash."""
MAX_TOKENS = 800
_MAX_LETTERS = 5
"""Longest run of letters that is a product of variables; longer ones are words."""
_TOKEN = re.compile(
    r"(?P<space> +)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)"
    r"|\\(?P<command>[a-zA-Z]+|[{}])|(?P<letters>[a-zA-Z]+)"
    r"|(?P<mark>\*\*|[-+*/^_!()\[\]{}|,=])|(?P<other>.)",
    re.DOTALL,
)
_PIECE = re.compile("|".join(WORDS) + "|[a-zA-Z]")


def tokenize(text: str) -> list[Token]:
    """Return the tokens; raises Unparsed for marks no formula has, for words, and for too many."""
    tokens: list[Token] = []
    is_after_space = False
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        if kind == "space":
            is_after_space = True
            continue
        if kind == "number":
            tokens.append(Token("number", found.replace(",", ""), is_after_space))
        elif kind == "command":
            tokens.append(Token("command", found[1:], is_after_space))
        elif kind == "letters":
            tokens += _letters(found, is_after_space)
        elif kind == "mark":
            tokens.append(Token("mark", "^" if found == "**" else found, is_after_space))
        else:
            raise Unparsed(f"{found!r} is no part of a formula")
        is_after_space = False
        if len(tokens) > MAX_TOKENS:
            raise Unparsed(f"more than {MAX_TOKENS} tokens")
    return tokens


def _letters(run: str, is_after_space: bool) -> list[Token]:
    pieces: list[Token] = []
    num_letters = 0
    for piece in _PIECE.findall(run):
        num_letters += len(piece) == 1
        kind: Literal["letter", "command"] = "letter" if len(piece) == 1 else "command"
        pieces.append(Token(kind, piece, is_after_space and not pieces))
    if num_letters > _MAX_LETTERS:
        raise Unparsed(f"{run!r:.40} is a word")
    return pieces
