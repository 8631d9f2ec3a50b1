"""A place in a list of tokens: what the parser looks at, takes, and how deep it is."""

from rewards.mathematics.tokens import Token, Unparsed

MAX_DEPTH = 40
"""Nesting of a formula; deeper ones are refused, long before Python's own limit."""


class Cursor:
    """Tokens and a place among them."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def peek(self, offset: int = 0) -> Token | None:
        """Return the next token, or one `offset` places after it; None outside."""
        place = self._place + offset
        return self._tokens[place] if 0 <= place < len(self._tokens) else None

    def mark(self) -> str:
        """Return the next token's text if it is a mark."""
        token = self.peek()
        return token.text if token is not None and token.kind == "mark" else ""

    def command(self) -> str:
        """Return the next token's name if it is a command."""
        token = self.peek()
        return token.text if token is not None and token.kind == "command" else ""

    def take(self) -> Token:
        """Return the next token and go on; raises Unparsed at the end."""
        token = self.peek()
        if token is None:
            raise Unparsed("the formula ends too early")
        self._place += 1
        return token

    def give_back(self) -> None:
        """Go back by one token."""
        self._place -= 1

    def next_tokens(self, count: int, *, take: bool = False) -> list[Token]:
        """Return the next tokens, at most `count`."""
        found = self._tokens[self._place : self._place + count]
        self._place += len(found) if take else 0
        return found

    def take_digit(self) -> int:
        """Take the first digit of the number that comes next; raises Unparsed for a decimal."""
        text = self.take().text
        if not text.isdigit():
            raise Unparsed(f"{text!r} is no argument")
        if len(text) > 1:
            self._tokens[self._place - 1 : self._place] = [
                Token("number", text[0]),
                Token("number", text[1:]),
            ]
        return int(text[0])

    def expect(self, mark: str) -> None:
        """Take a mark; raises Unparsed if another token comes."""
        if self.mark() != mark:
            raise Unparsed(f"{mark!r} was expected")
        self._place += 1

    def expect_end(self) -> None:
        """Raise Unparsed if tokens are left."""
        token = self.peek()
        if token is not None:
            raise Unparsed(f"{token.text!r} was not expected")

    def enter(self) -> None:
        """Go one level down; raises Unparsed where it gets too deep."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unparsed(f"nested deeper than {MAX_DEPTH}")

    def leave(self) -> None:
        """Go one level up."""
        self._depth -= 1

    def raw_group(self) -> str:
        """Take a subscript, a decorated name or what is in parentheses as text."""
        opening = self.mark()
        if opening not in ("{", "("):
            return self.take().text
        closing = "}" if opening == "{" else ")"
        depth, texts = 0, []
        while True:
            token = self.take()
            depth += (token.text == opening) - (token.text == closing)
            texts.append(token.text)
            if depth == 0:
                return "".join(texts[1:-1])
