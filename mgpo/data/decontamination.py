"""Which training rows share an n-gram of words with an evaluation set (arXiv 2511.06221).

Many rows are hashed at once, as arrays: bytes to words, words to n-grams. Where a hash is known
the words themselves are compared, so a collision of hashes is no match.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mgpo.data.words import decode_words, separate_words

MIN_WHOLE_TEXT_WORDS = 5
"""Texts of fewer words than this match nothing: they are equal by chance."""

_BATCH_CHARS = 200_000
"""Keeps the arrays of a batch within a processor's cache."""
_ROW_CHARS = 100
"""What a row costs besides its text, so that batches of empty rows end too."""
_SLOTS_PER_NGRAM = 16
_BYTE_FACTOR = 0xD1342543DE82EF95
_WORD_FACTOR = np.uint64(0x9E3779B97F4A7C15)

_Hashes = NDArray[np.uint64]
_Positions = NDArray[np.int64]
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRow:
    """One row of an evaluation set."""

    set_name: str
    number: int
    """Line of the file, or row of the table, from 1 on."""
    id: Any
    """As the row has it; None where it has none."""
    texts: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlap:
    """The first words that a training row shares with an evaluation set."""

    ngram: str
    """Normalised words; the whole text where it is shorter than n words."""
    evaluation_row: EvaluationRow


class EvaluationIndex:
    """All n-grams of evaluation texts, and those whole texts that are shorter."""

    def __init__(self, rows: Iterable[EvaluationRow], ngram: int) -> None:
        self.num_rows: Counter[str] = Counter()
        """By set."""
        self.num_unfindable: Counter[str] = Counter()
        """By set: rows all of whose texts are too short to be found."""
        self._ngram = ngram
        self._whole_texts: dict[str, dict[str, EvaluationRow]] = {}
        self._rows = list(rows)
        self._words = _Words([row.texts for row in self._rows])
        lengths = np.zeros(len(self._rows), dtype=np.int64)
        np.maximum.at(lengths, self._words.row_of_text, self._words.num_words)
        for row, length in zip(self._rows, lengths, strict=True):
            self.num_rows[row.set_name] += 1
            if length < min(ngram, MIN_WHOLE_TEXT_WORDS):
                self.num_unfindable[row.set_name] += 1
        for number, text in self._words.whole_texts(ngram):
            row = self._rows[number]
            self._whole_texts.setdefault(text, {}).setdefault(row.set_name, row)
        self._sort_ngrams()

    def overlaps(self, rows: Sequence[Sequence[str]]) -> list[list[Overlap]]:
        """Return, for the texts of each row, the first overlap with each set; most have none."""
        words = _Words(rows)
        found: list[dict[str, Overlap]] = [{} for _ in rows]
        for number, text in words.whole_texts(self._ngram) if self._whole_texts else ():
            for name, row in self._whole_texts.get(text, {}).items():
                found[number].setdefault(name, Overlap(ngram=text, evaluation_row=row))
        places, starts = self._candidates(words)
        owners, sources = words.rows_at(places), self._words.rows_at(starts)
        for place, start, owner, source in zip(
            places.tolist(), starts.tolist(), owners.tolist(), sources.tolist(), strict=True
        ):
            overlaps, row = found[owner], self._rows[source]
            if row.set_name in overlaps:
                continue
            ngram = words.ngram_at(place, self._ngram)
            if ngram == self._words.ngram_at(start, self._ngram):
                overlaps[row.set_name] = Overlap(ngram=ngram, evaluation_row=row)
        return [list(overlaps.values()) for overlaps in found]

    def _sort_ngrams(self) -> None:
        """Order the n-grams by hash; of equal ones within a set the first stays."""
        starts, hashes = self._words.ngrams(self._ngram)
        order = np.argsort(hashes, kind="stable")
        starts, hashes = starts[order], hashes[order]
        number_of_set = {name: number for number, name in enumerate(self.num_rows)}
        set_of_row = np.array([number_of_set[row.set_name] for row in self._rows], dtype=np.int64)
        sets = set_of_row[self._words.rows_at(starts)]
        may_be_twins = (hashes[1:] == hashes[:-1]) & (sets[1:] == sets[:-1])
        is_kept = np.ones(len(starts), dtype=np.bool_)
        for index in np.flatnonzero(may_be_twins).tolist():
            one, other = starts[index : index + 2].tolist()
            is_kept[index + 1] = not self._words.are_same(one, other, self._ngram)
        self._starts, self._hashes = starts[is_kept], hashes[is_kept]
        num_bits = max(1, (_SLOTS_PER_NGRAM * len(self._hashes)).bit_length())
        self._slot_shift = np.uint64(64 - num_bits)
        self._is_slot_taken = np.zeros(1 << num_bits, dtype=np.bool_)
        """By the top bits of a hash: spares most n-grams the search among the sorted ones."""
        self._is_slot_taken[self._hashes >> self._slot_shift] = True

    def _candidates(self, words: "_Words") -> tuple[_Positions, _Positions]:
        """Return where n-grams of `words` begin, each with every one of the index of its hash."""
        places, hashes = words.ngrams(self._ngram)
        is_likely = self._is_slot_taken[hashes >> self._slot_shift]
        places, hashes = places[is_likely], hashes[is_likely]
        first = np.searchsorted(self._hashes, hashes, side="left")
        is_found = self._hashes.take(first, mode="clip") == hashes
        places, hashes, first = places[is_found], hashes[is_found], first[is_found]
        counts = np.searchsorted(self._hashes, hashes, side="right") - first
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(places, counts), self._starts[np.repeat(first, counts) + nth]


class _Words:
    """The words of many texts in one array of bytes, each word with its hash."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        texts = [b"\0" + separate_words(text) for row in rows for text in row]
        self._bytes = b"".join(texts)
        self.row_of_text: _Positions = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        codes = np.frombuffer(self._bytes, dtype=np.uint8)
        is_letter = codes != 0
        self._starts: _Positions = np.flatnonzero(is_letter[1:] & ~is_letter[:-1]) + 1
        """Of each word, in bytes."""
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._ends_of_texts: _Positions = np.searchsorted(self._starts, ends)
        """Of each text, in words."""
        self.num_words: _Positions = np.diff(self._ends_of_texts, prepend=0)
        """Of each text."""
        self._hashes = _hash_words(codes, self._starts)

    def ngrams(self, ngram: int) -> tuple[_Positions, _Hashes]:
        """Return where n-grams begin, in words, and their hashes; none reaches over two texts."""
        text_of_word = np.repeat(np.arange(len(self.num_words)), self.num_words)
        num_windows = max(0, len(text_of_word) - ngram + 1)
        is_whole = text_of_word[:num_windows] == text_of_word[ngram - 1 :]
        return np.flatnonzero(is_whole), hash_ngrams(self._hashes, ngram)[is_whole]

    def whole_texts(self, ngram: int) -> Iterator[tuple[int, str]]:
        """Yield the row and the words of each text that is shorter than an n-gram, but long enough
        to be compared as a whole."""
        is_compared = (self.num_words >= MIN_WHOLE_TEXT_WORDS) & (self.num_words < ngram)
        for text in np.flatnonzero(is_compared):
            num_words = int(self.num_words[text])
            start = int(self._ends_of_texts[text]) - num_words
            yield int(self.row_of_text[text]), self.ngram_at(start, num_words)

    def ngram_at(self, start: int, num_words: int) -> str:
        """Return the words from `start` on, separated by spaces."""
        return " ".join(decode_words(self._bytes_at(start, num_words)))

    def are_same(self, one: int, other: int, num_words: int) -> bool:
        """Whether the words from both places on are the same."""
        left, right = self._bytes_at(one, num_words), self._bytes_at(other, num_words)
        return left == right or decode_words(left) == decode_words(right)

    def _bytes_at(self, start: int, num_words: int) -> bytes:
        stop = start + num_words
        end = self._starts[stop] if stop < len(self._starts) else len(self._bytes)
        return self._bytes[self._starts[start] : end]

    def rows_at(self, words: _Positions) -> _Positions:
        """Return the row that each of these words belongs to."""
        return self.row_of_text[np.searchsorted(self._ends_of_texts, words, side="right")]


def find_overlaps(
    index: EvaluationIndex, rows: Iterable[tuple[_Item, Sequence[str]]]
) -> Iterator[tuple[_Item, list[Overlap]]]:
    """Yield every item, in order, with the overlaps of its texts; holds a few megabytes of them."""
    batch: list[tuple[_Item, Sequence[str]]] = []
    num_chars = 0
    for row in rows:
        batch.append(row)
        num_chars += _ROW_CHARS + sum(map(len, row[1]))
        if num_chars >= _BATCH_CHARS:
            yield from _screen(index, batch)
            batch, num_chars = [], 0
    yield from _screen(index, batch)


def _screen(
    index: EvaluationIndex, batch: Sequence[tuple[_Item, Sequence[str]]]
) -> Iterator[tuple[_Item, list[Overlap]]]:
    overlaps = index.overlaps([texts for _, texts in batch])
    yield from zip((item for item, _ in batch), overlaps, strict=True)


def hash_ngrams(words: _Hashes, ngram: int) -> _Hashes:
    """Return a 64-bit hash of each `ngram` neighbours: a polynomial in the hashes of the words."""
    num_windows = max(0, len(words) - ngram + 1)
    hashes: _Hashes = np.zeros(num_windows, dtype=np.uint64)
    for offset in range(ngram):
        hashes = hashes * _WORD_FACTOR + words[offset : offset + num_windows]
    return _mix(hashes)


def _hash_words(codes: NDArray[np.uint8], starts: _Positions) -> _Hashes:
    """Return a hash of each word: a polynomial in its bytes, mod 2^64.

    Each byte is multiplied by the power of its place in the whole array, as bytes between words
    are 0; the power of the word's place is then divided out.
    """
    if not len(starts):
        return np.zeros(0, dtype=np.uint64)
    size = 1 << len(codes).bit_length()
    sums = np.add.reduceat(codes * _powers(_BYTE_FACTOR, size)[: len(codes)], starts)
    return _mix(sums * _powers(pow(_BYTE_FACTOR, -1, 2**64), size)[starts])


@lru_cache(maxsize=4)
def _powers(base: int, count: int) -> _Hashes:
    """Return base^1 to base^count, mod 2^64."""
    return np.cumprod(np.full(count, base, dtype=np.uint64), dtype=np.uint64)


def _mix(hashes: _Hashes) -> _Hashes:
    """Spread every bit over all, as splitmix64 does."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
