"""Which rows are good enough to train on (docs/data.md). Thresholds are ours: the reports name the
filters and not their values, unless said otherwise."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least, require_within


@dataclass(frozen=True, kw_only=True)
class ResponseConfig:
    """What a response must have at least."""

    min_words: int = 2
    """Words of the whole response."""

    def __post_init__(self) -> None:
        require_at_least("filters.response.min_words", self.min_words, 0)


@dataclass(frozen=True, kw_only=True)
class RepetitionConfig:
    """How far a response may repeat itself."""

    min_loop_chars: int = 150
    """Characters that repeat a phrase after it stood there once: words anywhere, or digits and
    symbols at the response's end."""
    min_structured_loop_chars: int = 1000
    """The same for digits and symbols, where something else follows: tables, matrices of zeros."""
    min_counting_loop_chars: int = 1000
    """The same for words that come again with other numbers ("Check 12. Check 13. ...") at the
    response's end."""
    min_listing_chars: int = 5000
    """The same for such words where something else follows: lists of cases."""
    min_loop_repeats: float = 3.0
    """The phrase stands there at least so many times, the broken last one as a fraction."""
    ngram: int = 4
    """Words of the n-grams whose repetition is counted."""
    window_words: int = 512
    """Neighbouring words in which n-grams are counted, so that long responses are not judged by
    another measure than short ones."""
    max_ngram_share: float = 0.4
    """Largest share of a window's n-grams that stood there twice before."""
    min_words: int = 30
    """Shorter responses are not judged by their n-grams."""
    max_line_share: float = 0.4
    """Largest share of the characters in lines that stood there twice before."""
    min_compressed_size: float = 0.15
    """Smallest size of a window's prose under zlib, as a share of its full size."""
    window_bytes: int = 4000
    """Neighbouring bytes that are compressed together."""
    min_prose_chars: int = 1000
    """Responses with less prose are not judged by their compressed size."""

    def __post_init__(self) -> None:
        key = "filters.repetition"
        require_at_least(f"{key}.min_loop_chars", self.min_loop_chars, 50)
        least = self.min_loop_chars
        require_at_least(f"{key}.min_structured_loop_chars", self.min_structured_loop_chars, least)
        require_at_least(f"{key}.min_counting_loop_chars", self.min_counting_loop_chars, least)
        require_at_least(f"{key}.min_listing_chars", self.min_listing_chars, least)
        require_at_least(f"{key}.min_loop_repeats", self.min_loop_repeats, 2)
        require_at_least(f"{key}.ngram", self.ngram, 2)
        require_at_least(f"{key}.window_words", self.window_words, 2 * self.ngram)
        require_within(f"{key}.max_ngram_share", self.max_ngram_share, 0, 1)
        require_at_least(f"{key}.min_words", self.min_words, self.ngram)
        require_within(f"{key}.max_line_share", self.max_line_share, 0, 1)
        require_within(f"{key}.min_compressed_size", self.min_compressed_size, 0, 1)
        require_at_least(f"{key}.window_bytes", self.window_bytes, 500)
        require_at_least(f"{key}.min_prose_chars", self.min_prose_chars, 500)


@dataclass(frozen=True, kw_only=True)
class CopiesConfig:
    """When two responses to one prompt are copies of each other."""

    ngram: int = 5
    """Words of the n-grams that two responses are compared by."""
    max_similarity: float = 0.8
    """Largest Jaccard similarity of their sets of n-grams, all of the response."""
    opening_words: int = 100
    """Words at the beginning of a response that are compared on their own."""
    max_same_openings: int = 2
    """Responses to one prompt that may begin with the same `opening_words`."""

    def __post_init__(self) -> None:
        require_at_least("filters.copies.ngram", self.ngram, 1)
        require_within("filters.copies.max_similarity", self.max_similarity, 0, 1)
        require_at_least("filters.copies.opening_words", self.opening_words, self.ngram)
        require_at_least("filters.copies.max_same_openings", self.max_same_openings, 1)


@dataclass(frozen=True, kw_only=True)
class StrataConfig:
    """Strata of rows, and how many of each are drawn."""

    num_lengths: int = 4
    """Quantiles of response length within a domain; 1: lengths are not told apart."""
    difficulty_from: Literal["accuracy", "difficulty"] = "accuracy"
    """accuracy: the error rate, 1 - `accuracy`; difficulty: the row's field of that name."""
    difficulty_edges: list[float] = field(default_factory=lambda: [0.25, 0.5, 0.75])
    """Where the next stratum of difficulty begins; empty: one stratum."""
    max_rows_per_stratum: int | None = None
    """Cap of each stratum; None: none."""
    num_rows: int | None = None
    """Rows to draw in all, the same number from each stratum unless shares are given; what a small
    stratum lacks comes from the others. None: all, up to the cap."""
    length_shares: list[float] = field(default_factory=list)
    """Weights of the strata of length, shortest first; empty: equal."""
    difficulty_shares: list[float] = field(default_factory=list)
    """Weights of the strata of difficulty, easiest first; empty: equal. A stratum of both has the
    product of the two."""

    def __post_init__(self) -> None:
        require_at_least("filters.strata.num_lengths", self.num_lengths, 1)
        edges = self.difficulty_edges
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError(f"filters.strata.difficulty_edges must rise, got {list(edges)}")
        if self.max_rows_per_stratum is not None:
            require_at_least("filters.strata.max_rows_per_stratum", self.max_rows_per_stratum, 1)
        if self.num_rows is not None:
            require_at_least("filters.strata.num_rows", self.num_rows, 1)
        _check_shares("length_shares", self.length_shares, self.num_lengths, self.num_rows)
        _check_shares("difficulty_shares", self.difficulty_shares, len(edges) + 1, self.num_rows)


def _check_shares(name: str, shares: list[float], count: int, num_rows: int | None) -> None:
    key = f"filters.strata.{name}"
    if shares and num_rows is None:
        raise ValueError(f"{key} share out filters.strata.num_rows, which is not set; set it")
    if shares and len(shares) != count:
        raise ValueError(
            f"{key} must have a weight for each of the {count} strata, got {list(shares)}"
        )
    if shares and (min(shares) < 0 or max(shares) <= 0 or not isfinite(sum(shares))):
        raise ValueError(f"{key} must be at least 0 and not all 0, got {list(shares)}")


@dataclass(frozen=True, kw_only=True)
class HardRowsConfig:
    """Rows that a supervised second stage keeps."""

    min_error_rate: float | None = 0.75
    """Smallest 1 - `accuracy` of rows that have a verifier (report); None: any."""
    min_response_tokens: int | None = 5000
    """Fewest tokens of a response (report); None: any."""

    def __post_init__(self) -> None:
        if self.min_error_rate is not None:
            require_above("filters.hard_rows.min_error_rate", self.min_error_rate, 0)
            require_within("filters.hard_rows.min_error_rate", self.min_error_rate, 0, 1)
        if self.min_response_tokens is not None:
            require_at_least("filters.hard_rows.min_response_tokens", self.min_response_tokens, 1)
