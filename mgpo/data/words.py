"""Words of a text, as texts are compared: case, punctuation, symbols and layout do not count."""

import unicodedata

_SEPARATOR = "\0"
_UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA")
"""First words of the Unicode names of characters that are written without spaces."""
_ASCII_TABLE = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 0 for code in range(256)
)


class _CharacterTable(dict[int, str]):
    """What `str.translate` puts for a character; filled as characters come."""

    def __missing__(self, code: int) -> str:
        self[code] = _replacement(chr(code))
        return self[code]


def _replacement(char: str) -> str:
    if unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f":
        return ""  # soft hyphens, zero-width spaces, variation selectors
    if unicodedata.category(char)[0] not in "LNM":
        return _SEPARATOR
    if unicodedata.name(char, "").startswith(_UNSPACED_SCRIPTS):
        return _SEPARATOR + char + _SEPARATOR
    return char


_TABLE = _CharacterTable()


def separate_words(text: str) -> bytes:
    r"""Return the words of a text as UTF-8, with one or more zero bytes between them.

    Compatibility forms are unified (NFKC), then case. A word is a run of letters, digits and their
    marks, so `\frac{1}{2}` has the words frac, 1 and 2. Chinese characters and Japanese kana, which
    are written without spaces, are a word each.
    """
    if text.isascii():  # the same words, several times faster
        return text.encode().translate(_ASCII_TABLE)
    unified = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", unified).translate(_TABLE).encode()


def split_words(text: str) -> list[str]:
    """Return the words of a text in order."""
    return decode_words(separate_words(text))


def decode_words(separated: bytes) -> list[str]:
    """Return the words that are separated by zero bytes."""
    return [word.decode() for word in separated.split(b"\0") if word]
