"""Measures of repetition, against figures counted by hand and a slow search."""

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpo.data.quality.loops import find_loops
from mgpo.data.quality.repetition import (
    is_prose,
    least_compressed_size,
    repeated_line_share,
    repeated_ngram_share,
)


def test_a_loop_has_its_place_period_and_length() -> None:
    (loop, *_) = find_loops("xyz. " + "abc def ghi " * 10 + "abc d" + "!", 50)
    assert (loop.start, loop.period, loop.num_chars, loop.end) == (4, 12, 126, 130)
    assert (loop.excess_chars, loop.repeats) == (114, 10.5)


@settings(deadline=None, max_examples=60)
@given(
    st.text("abc ", max_size=60),
    st.text("abcdefgh \u00e9\u6c42", min_size=1, max_size=90),
    st.integers(0, 89),
    st.text("xyz", max_size=40),
)
def test_every_planted_loop_is_found(before: str, phrase: str, cut: int, after: str) -> None:
    planted = phrase * (3 + 200 // len(phrase)) + phrase[: cut % len(phrase)]
    text = before + planted + after
    best = find_loops(text, 100)[0]
    assert best.excess_chars >= len(planted) - len(phrase)
    chars = text[best.start : best.end]
    assert chars[best.period :] == chars[: -best.period]


@pytest.mark.parametrize("text", ["", "a", "abc" * 26, "\ud800" * 78])
def test_a_text_of_no_more_than_the_limit_has_no_loop(text: str) -> None:
    assert find_loops(text, 78) == []
    assert find_loops(text, 10) or len(text) < 12


def test_the_third_occurrence_of_an_ngram_is_the_first_that_counts() -> None:
    words = ["a", "b", "c", "d"]
    assert repeated_ngram_share(words * 2, 4, 100) == 0
    assert repeated_ngram_share(words * 3, 4, 100) == 1 / 9  # abcd three times, the others twice
    assert repeated_ngram_share(words * 6, 4, 100) == (4 + 3 + 3 + 3) / 21
    assert repeated_ngram_share(["a", "b", "c", "1"] * 6, 4, 100) == 0
    assert repeated_ngram_share(words[:3], 4, 100) == 0
    assert repeated_ngram_share([], 4, 100) == 0


def test_ngrams_are_counted_in_the_worst_window() -> None:
    fresh = [f"word{letter}{other}" for letter in "abcdefghij" for other in "abcdefghij"]
    looped = fresh + ["a", "b", "c", "d"] * 5
    assert repeated_ngram_share(looped, 4, 1000) == 9 / 117
    assert repeated_ngram_share(looped, 4, 17) == 9 / 17


def test_lines_are_compared_by_their_words() -> None:
    line = "We are here, again."
    text = f"{line}\n  WE ARE here again\n{line}\n{line}\nSomething else it is.\n"
    assert repeated_line_share(text) == 2 * 19 / (3 * 19 + 17 + 21)
    assert repeated_line_share("ok then\n" * 50) == 0  # two words
    assert repeated_line_share("| 0 | 1 |\n" * 50) == 0
    assert repeated_line_share("") == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So the answer is 12.", True),
        ("\u6240\u4ee5\u7b54\u6848\u662f 12\u3002", True),
        ("| yes | 12 | 13 | 14 |", False),
        ("5+4=9,3+8=11,7+2+1=10", False),
        (r"\frac{1}{2} + \sqrt{3} = \alpha", False),
        ("n = 17: 17^2 = 289 = 2 (mod 7)", False),
        ("", False),
        ("\\frac", False),
    ],
)
def test_prose_is_mostly_letters(text: str, expected: bool) -> None:
    assert is_prose(text) is expected


def test_the_best_compressed_window_counts() -> None:
    varied = "".join(chr(33 + (7 * n * n + n // 3) % 90) for n in range(4000))
    looped = "abc def " * 500
    assert least_compressed_size(looped, 9999) == len(zlib.compress(looped.encode())) / 4000
    assert least_compressed_size(varied + looped, 4000) == least_compressed_size(looped, 4000)
    assert least_compressed_size("", 4000) == 1
