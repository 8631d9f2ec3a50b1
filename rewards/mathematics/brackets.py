"""Where the brackets of a normalised text are: what stands outside all of them, what inside one."""

import re
from collections.abc import Iterator

MAX_ITEMS = 256
_TOKEN = re.compile(
    r"\\begin\{[a-z]*\*?\}|\\end\{[a-z]*\*?\}|\\\\|\\[{}]|\\[a-zA-Z]+ ?|.", re.DOTALL
)
_OPENING = frozenset({"(", "[", "{", r"\{"})
_CLOSING = frozenset({")", "]", "}", r"\}"})


def split_top(
    text: str, separators: set[str], *, keeps: "re.Pattern[str] | None" = None
) -> list[str]:
    """Split outside all brackets, and outside what matches `keeps`."""
    kept: set[int] = set()
    for number in keeps.finditer(text) if keeps else ():
        kept.update(range(number.start(), number.end()))
    parts, start = [], 0
    for place, token in top_tokens(text):
        if token.rstrip() in separators and place not in kept:
            parts.append(text[start:place].strip())
            start = place + len(token)
    parts.append(text[start:].strip())
    if len(parts) > MAX_ITEMS:
        return [text]
    return [part for part in parts if part] or [text]


def top_tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield the tokens outside all brackets and environments, with their places."""
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _CLOSING or token.startswith(r"\end{"):
            depth = max(0, depth - 1)
        elif token in _OPENING or token.startswith(r"\begin{"):
            depth += 1
        elif depth == 0:
            yield match.start(), token


def outer_brackets(text: str) -> tuple[str, str, str] | None:
    """Return opening, closing and what is between, if one pair of brackets surrounds all."""
    depth, opening = 0, ""
    last_start = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        last_start = match.start()
        if token in _OPENING:
            opening = opening or token
            depth += 1
        elif token in _CLOSING:
            depth -= 1
            if depth == 0:
                break
        if depth == 0:
            return None
    else:
        return None
    closing = text[last_start:]
    if closing not in _CLOSING or opening == "{" or ((opening == r"\{") != (closing == r"\}")):
        return None
    return opening[-1], closing[-1], text[len(opening) : last_start].strip()
