"""Overlaps with evaluation texts: found whatever the layout, and never by chance of a hash."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mgpo.data import decontamination
from mgpo.data.decontamination import (
    MIN_WHOLE_TEXT_WORDS,
    EvaluationIndex,
    EvaluationRow,
    find_overlaps,
)
from mgpo.data.words import split_words

PROBLEM = "Every morning Aya goes for a nine kilometer walk and stops at a coffee shop"
TEN = "every morning aya goes for a nine kilometer walk and"


def _index(*texts: str, ngram: int = 10) -> EvaluationIndex:
    rows = [_row("set", number, text) for number, text in enumerate(texts, start=1)]
    return EvaluationIndex(rows, ngram)


def _row(set_name: str, number: int, *texts: str) -> EvaluationRow:
    return EvaluationRow(set_name=set_name, number=number, id=None, texts=texts)


def _ngrams(index: EvaluationIndex, *texts: str) -> list[str]:
    (overlaps,) = index.overlaps([texts])
    return [overlap.ngram for overlap in overlaps]


@pytest.mark.parametrize(
    "text",
    [
        TEN,
        f"Before it: {TEN.upper()}, after it.",
        TEN.replace(" ", "\r\n\t"),
        "**every** morning -- aya (goes) 'for' a; nine_kilometer $walk$ <and>!",
        "".join(chr(ord(char) + 0xFEE0) if char != " " else "\u3000" for char in TEN),
        TEN.replace("kilometer", "kilo\u00admeter").replace("walk", "walk\u200b"),
        f"\u201c{TEN}\u201d",
    ],
)
def test_ten_shared_words_are_found_whatever_the_layout(text: str) -> None:
    assert _ngrams(_index(PROBLEM), text) == [TEN]


@pytest.mark.parametrize(
    "text",
    [
        "every morning aya goes for a nine kilometer walk",
        "every morning aya goes for a nine kilometer walk or stops at a coffee shop",
        "every morning aya goes for a nine kilometer hike and stops at a coffee shop",
        "",
        " \n",
        "?!",
    ],
)
def test_nine_shared_words_are_not_enough(text: str) -> None:
    assert _ngrams(_index(PROBLEM), text) == []


def test_ngrams_do_not_reach_over_texts_or_rows() -> None:
    index = _index("one two three four five six", "seven eight nine ten eleven twelve")
    halves = ["one two three four five", "six seven eight nine ten"]
    assert index.overlaps([halves, [halves[0]], [halves[1]]]) == [[], [], []]
    assert _ngrams(_index("a b c d", "e f g h", ngram=3), "c d e f") == []
    assert _index("a b c d", ngram=3).overlaps([["x a b"], ["c d x"]]) == [[], []]


def test_words_of_other_scripts() -> None:
    assert split_words("求所有正整数 n。使得 2^n+1。") == [
        *"求所有正整数",
        "n",
        *"使得",
        "2",
        "n",
        "1",
    ]
    assert split_words("カタカナ") == [*"カタカナ"]
    assert split_words("Straße CAFE\u0301 हिन्दी") == ["strasse", "café", "हिन्दी"]
    assert _ngrams(_index("求所有满足条件的正整数n"), "试求所有满足条件的正整数。") == [
        "求 所 有 满 足 条 件 的 正 整"
    ]


def test_latex_commands_and_digits_are_words() -> None:
    assert split_words(r"$\frac{1}{2} \leq x_1$") == ["frac", "1", "2", "leq", "x", "1"]


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii")))
def test_the_fast_way_for_ascii_gives_the_same_words(text: str) -> None:
    assert split_words("é " + text) == ["é", *split_words(text)]


def test_a_short_text_matches_only_as_a_whole() -> None:
    index = _index("What is nine times nine?")
    assert _ngrams(index, "what is NINE times nine") == ["what is nine times nine"]
    assert _ngrams(index, "so what is nine times nine") == []
    assert _ngrams(_index("what is nine squared"), "what is nine squared") == []


def test_rows_too_short_to_be_found_are_counted() -> None:
    rows = [_row("a", 1, "2 + 2?"), _row("a", 2, ""), _row("a", 3), _row("b", 1, PROBLEM, "42")]
    index = EvaluationIndex(rows, 10)
    assert index.num_unfindable == {"a": 3}
    assert _ngrams(index, "2 + 2?") == []


def test_each_set_is_named_once_with_its_first_row() -> None:
    rows = [_row("a", 1, "other words"), _row("a", 2, PROBLEM), _row("a", 3, PROBLEM)]
    index = EvaluationIndex([*rows, _row("b", 1, PROBLEM[14:])], 10)
    (overlaps,) = index.overlaps([[PROBLEM + " " + PROBLEM]])
    found = [(o.evaluation_row.set_name, o.evaluation_row.number, o.ngram[:9]) for o in overlaps]
    assert found == [("a", 2, "every mor"), ("b", 1, "aya goes ")]


@pytest.mark.parametrize("constant", [0, 2**64 - 1])
def test_a_collision_of_hashes_is_no_match(monkeypatch: pytest.MonkeyPatch, constant: int) -> None:
    monkeypatch.setattr(
        decontamination,
        "hash_ngrams",
        lambda words, ngram: np.full(len(words) - ngram + 1, constant, dtype=np.uint64),
    )
    index = _index(PROBLEM, "A coffee shop stops every morning and Aya goes for a walk at nine")
    shuffled = "coffee a shop stops every morning and aya goes for walk a at nine kilometer"
    assert _ngrams(index, shuffled) == []
    assert _ngrams(index, f"{shuffled} {TEN}") == [TEN]
    later = "coffee shop stops every morning and aya goes for a"
    assert _ngrams(index, later) == [later]


def test_hashes_do_not_change_between_runs_and_rarely_collide() -> None:
    words = np.arange(1, 100_001, dtype=np.uint64)
    hashes = decontamination.hash_ngrams(words, 10)
    assert len(np.unique(hashes)) == 99_991
    assert len(np.unique(hashes >> np.uint64(44))) > 90_000
    assert int(hashes[0]) == _hash_by_hand(range(1, 11))


def _hash_by_hand(words: Sequence[int]) -> int:
    value = 0
    for word in words:
        value = (value * 0x9E3779B97F4A7C15 + word) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ (value >> shift)) * factor % 2**64
    return value ^ (value >> 31)


def test_items_come_in_order_over_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decontamination, "_BATCH_CHARS", 500)
    rows = [(n, [PROBLEM if n % 7 == 0 else "something else"]) for n in range(50)]
    found = [(item, len(overlaps)) for item, overlaps in find_overlaps(_index(PROBLEM), rows)]
    assert found == [(n, int(n % 7 == 0)) for n in range(50)]
    assert list(find_overlaps(_index(PROBLEM), [])) == []


_TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), max_size=3)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(["s", "t"]), _TEXTS), max_size=4),
    st.lists(_TEXTS, max_size=4),
    st.integers(1, 7),
)
@example([("s", ["a b c a b", "c"])], [["a b c a b"]], 7)
def test_a_plain_search_finds_the_same(
    evaluation: list[tuple[str, list[str]]], rows: list[list[str]], ngram: int
) -> None:
    evaluation_rows = [_row(name, n, *texts) for n, (name, texts) in enumerate(evaluation)]
    found = EvaluationIndex(evaluation_rows, ngram).overlaps(rows)
    assert len(found) == len(rows)
    for texts, overlaps in zip(rows, found, strict=True):
        parts = _parts(texts, ngram)
        expected = {row.set_name for row in evaluation_rows if parts & _parts(row.texts, ngram)}
        names = [overlap.evaluation_row.set_name for overlap in overlaps]
        assert sorted(names) == sorted(expected)
        for overlap in overlaps:
            assert tuple(overlap.ngram.split()) in parts & _parts(
                overlap.evaluation_row.texts, ngram
            )


def _parts(texts: Sequence[str], ngram: int) -> set[tuple[str, ...]]:
    """Return every n-gram, and each shorter text that is long enough, of texts of plain words."""
    parts: set[tuple[str, ...]] = set()
    for text in texts:
        words = text.split()
        parts |= set(zip(*(words[offset:] for offset in range(ngram)), strict=False))
        if MIN_WHOLE_TEXT_WORDS <= len(words) < ngram:
            parts.add(tuple(words))
    return parts


_EVALUATION_WORDS = [
    "aya",
    "walk",
    "nine",
    "stra\u00dfe",
    "caf\u00e9",
    "x1",
    "42",
    "\u6c42",
    "frac",
]
_FRESH_WORDS = ["other", "\u00fcber", "7", "words"]
_SEPARATORS = [" ", ", ", "\n\n", " -- ", "_", ". \u201c", "\u3000", "$\\", "\u200b (", " **"]
_CASES = [str.lower, str.upper, str.title, str.swapcase]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**64), st.sampled_from([9, 10]))
def test_ten_planted_words_are_found_in_any_case_and_punctuation_and_nine_are_not(
    seed: int, count: int
) -> None:
    rng = random.Random(seed)
    words = rng.choices(_EVALUATION_WORDS, k=30)
    start = rng.randint(0, 30 - count)
    planted = words[start : start + count]
    before, after = (rng.choices(_FRESH_WORDS, k=rng.randint(1, 12)) for _ in "ab")
    cased = [rng.choice(_CASES)(word) for word in [*before, *planted, *after]]
    text = "".join(rng.choice(_SEPARATORS) + word for word in cased)
    found = _ngrams(_index(" ".join(words)), text)
    assert found == ([" ".join(split_words(" ".join(planted)))] if count == 10 else [])
