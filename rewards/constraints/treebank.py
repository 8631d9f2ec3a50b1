"""Words as the official code's Penn Treebank tokenizer cuts them.

Punctuation stands alone, `can't` is `ca` and `n't`, `well-known` and `and/or` are one word, and a
dot is cut off at a sentence's end only.
"""

import regex

from rewards.constraints.sentences import official_sentences

_FINAL_DOT = regex.compile(r"(?<=[^.])\.(?=[\])}>\"'\u00bb\u201d\u2019\s]*$)")
_ALONE = r"?!;@#$%&*\[\](){}<>\"`\u00ab\u00bb\u201c\u201d\u2018\u2019\u201e"
_WORD = regex.compile(
    rf"\.{{2,}}|--|''|`+|[{_ALONE}]|[:,](?!\d)|(?:(?!\.\.|--|''|[:,](?!\d))[^\s{_ALONE}])+"
)
_TAIL = regex.compile(r"(?i)(?<=[^'])(?:'(?:s|m|d|ll|re|ve)|n't|')$")
_JOINED = {
    "cannot": 3,
    "d'ye": 1,
    "gimme": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "wanna": 3,
    "'tis": 2,
    "'twas": 2,
}
"""Words that are two, and where the second begins."""


def official_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, sentence by sentence."""
    return [word for sentence in official_sentences(text) for word in sentence_words(sentence)]


def sentence_words(sentence: str) -> list[str]:
    """Return the words and punctuation marks of one sentence."""
    spaced = _FINAL_DOT.sub(" . ", sentence)
    return [word for piece in _WORD.findall(spaced) for word in _split(piece)]


def _split(piece: str) -> list[str]:
    cut = _JOINED.get(piece.lower())
    if cut is None:
        tail = _TAIL.search(piece)
        cut = tail.start() if tail else 0
    return [part for part in (piece[:cut], piece[cut:]) if part]
