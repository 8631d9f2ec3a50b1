"""A text as its reader sees it: nothing invisible, one code for each letter."""

import unicodedata

import regex

_STYLED = regex.compile(
    r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9]+"
)
"""Full-width, mathematical and circled letters and digits: plain ones in another dress."""
_INVISIBLE = regex.compile(
    # What joins and parts letters of scripts that need it, words of scripts without spaces, and
    # the parts of an emoji or a keycap stays.
    r"(?P<kept>[\p{Extended_Pictographic}\p{Emoji_Modifier}]\p{DI}+|[0-9#*]\ufe0f"
    r"|[\p{Arabic}\p{Syriac}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}"
    r"\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}][\u200c\u200d]+"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\u200b)|\p{DI}+"
)


def as_seen(text: str) -> str:
    """Return the text without invisible characters, composed (NFC), its letters undressed.

    A zero-width space inside a word hides it from a search but not from a reader; an accent
    written as a character of its own is none to them.
    """
    if text.isascii():
        return text
    visible = _INVISIBLE.sub(lambda found: found["kept"] or "", text)
    plain = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found.group()), visible)
    return unicodedata.normalize("NFC", plain)
