"""How repetitive a text is: figures that thresholds are held against.

Tables, column arithmetic and lists of cases repeat themselves by their nature. So lines that are
mostly digits and symbols are no prose and are left out where the wording is measured, n-grams with
a digit count as new, and a restatement (a second occurrence) is no repetition anywhere.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

from mgpo.data.words import split_words

_MIN_LETTER_SHARE = 0.6
_MARKUP = re.compile(r"\\[a-zA-Z]+|[^\W\d_](?=[_^=+])|\s")
"""LaTeX commands and variables are no words."""
_DIGITS = re.compile(r"\d")
_MAX_DUPLICATES = 2


def is_prose(text: str) -> bool:
    """Whether letters make up most of what is not white space, a LaTeX command or a variable."""
    visible = _MARKUP.sub("", text)
    num_letters = sum(map(str.isalpha, visible))
    return num_letters > 0 and num_letters >= _MIN_LETTER_SHARE * len(visible)


def prose_lines(text: str) -> list[str]:
    """Return the lines that are prose, without outer white space."""
    return [line.strip() for line in text.splitlines() if is_prose(line)]


def repeated_ngram_share(words: Sequence[str], ngram: int, window: int) -> float:
    """Return the largest share of repeated ones in any `window` neighbouring n-grams.

    Repeated is the third and every later occurrence of an n-gram without digits. Windows begin
    every half window; a text shorter than a window is one.
    """
    ngrams = list(zip(*(words[offset:] for offset in range(ngram)), strict=False))
    has_digits = [_DIGITS.search(word) is not None for word in words]
    is_counted = [not any(has_digits[i : i + ngram]) for i in range(len(ngrams))]
    return max(
        (
            _num_repeated(
                each for each, counts in zip(ngrams[part], is_counted[part], strict=True) if counts
            )
            / len(ngrams[part])
            for part in _windows(len(ngrams), window)
        ),
        default=0.0,
    )


def _num_repeated(items: Iterator[tuple[str, ...]]) -> int:
    return sum(max(0, count - _MAX_DUPLICATES) for count in Counter(items).values())


def repeated_line_share(text: str) -> float:
    """Return the share of a text's characters in prose lines that stood there twice before.

    Lines are compared by their words; those of fewer than three words are not counted. Paragraphs
    that come again are lines that come again.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    num_repeated = 0
    for line in prose_lines(text):
        words = tuple(split_words(line))
        counts[words] += 1
        if len(words) > 2 and counts[words] > _MAX_DUPLICATES:
            num_repeated += len(line)
    return num_repeated / max(1, sum(len(line.strip()) for line in text.splitlines()))


def least_compressed_size(text: str, window: int) -> float:
    """Return the smallest ratio of compressed to full size (zlib) over the windows of a text.

    `window` is in bytes of UTF-8. Windows begin every half window; a shorter text is one.
    """
    data = text.encode("utf-8", "surrogatepass")
    return min(
        (len(zlib.compress(data[part])) / len(data[part]) for part in _windows(len(data), window)),
        default=1.0,
    )


def _windows(length: int, window: int) -> Iterator[slice]:
    """Yield slices of `window` items each that cover `length`; the last ends where all end."""
    if not length:
        return
    stride = max(1, window // 2)
    for start in range(0, max(1, length - window + stride), stride):
        begin = max(0, min(start, length - window))
        yield slice(begin, min(length, begin + window))
