"""Filters for responses that a model did not finish, or in which it repeats itself."""

import re

from mgpo.config.quality import RepetitionConfig, ResponseConfig
from mgpo.data.quality.loops import Loop, find_loops
from mgpo.data.quality.repetition import (
    is_prose,
    least_compressed_size,
    prose_lines,
    repeated_line_share,
    repeated_ngram_share,
)
from mgpo.data.quality.types import Drop, Record, response_of
from mgpo.data.words import split_words

_OPENED = re.compile(r"(?:^|</think>)[^\S\n]*<think>", re.MULTILINE)
"""Where thinking begins. A tag within a line is spoken of, not used."""
_CLOSING = "</think>"
_DIGITS = re.compile(r"\d+")
_EXCERPT_CHARS = 80


class UnfinishedResponse:
    """Drops responses that are empty or a word, or that end while or right after thinking."""

    name = "unfinished_response"

    def __init__(self, config: ResponseConfig) -> None:
        self._min_words = config.min_words

    def judge(self, record: Record) -> Drop | None:
        """Reasons: empty_response, short_response, unfinished_thinking, no_answer."""
        response = response_of(record)
        if response is None:
            return None
        if not response.strip():
            return Drop("empty_response")
        opened = [match.end() for match in _OPENED.finditer(response)]
        closed = response.rfind(_CLOSING)
        if opened and opened[-1] > closed:
            return Drop("unfinished_thinking", {"end": response[-_EXCERPT_CHARS:]})
        if closed >= 0 and not response[closed + len(_CLOSING) :].strip():
            return Drop("no_answer", {"end": response[-_EXCERPT_CHARS:]})
        num_words = len(split_words(response))
        if num_words < self._min_words:
            return Drop("short_response", {"words": num_words, "text": response[:_EXCERPT_CHARS]})
        return None


class RepetitiveResponse:
    """Drops responses that loop, or whose wording repeats itself beyond the limits."""

    name = "repetitive_response"

    def __init__(self, config: RepetitionConfig) -> None:
        self._config = config

    def judge(self, record: Record) -> Drop | None:
        """Reasons: loop, counting_loop, repeated_ngrams, repeated_lines, compressible."""
        response = response_of(record)
        if response is None:
            return None
        text = " ".join(response.split())
        return (
            self._judge_loops(text)
            or self._judge_counting(text)
            or self._judge_ngrams(response)
            or self._judge_lines(response)
            or self._judge_size(response)
        )

    def _judge_loops(self, text: str) -> Drop | None:
        """A loop of words anywhere; one of digits and symbols at the end, or else a long one."""
        config = self._config
        for loop in find_loops(text, config.min_loop_chars):
            is_sure = is_prose(_phrase(text, loop)) or loop.end == len(text)
            least = config.min_loop_chars if is_sure else config.min_structured_loop_chars
            if loop.excess_chars >= least and loop.repeats >= config.min_loop_repeats:
                return _loop_drop("loop", text, loop)
        return None

    def _judge_counting(self, text: str) -> Drop | None:
        """Words that come again with other numbers: a loop once every number is the same."""
        config = self._config
        counting = _DIGITS.sub("0", text)
        for loop in find_loops(counting, config.min_counting_loop_chars):
            is_final = loop.end == len(counting)
            least = config.min_counting_loop_chars if is_final else config.min_listing_chars
            is_loop = loop.excess_chars >= least and loop.repeats >= config.min_loop_repeats
            if is_loop and is_prose(_phrase(counting, loop)):
                return _loop_drop("counting_loop", counting, loop)
        return None

    def _judge_ngrams(self, response: str) -> Drop | None:
        config = self._config
        words = split_words(response)
        if len(words) < config.min_words:
            return None
        share = repeated_ngram_share(words, config.ngram, config.window_words)
        if share <= config.max_ngram_share:
            return None
        return Drop("repeated_ngrams", {"share": round(share, 3), "ngram": config.ngram})

    def _judge_lines(self, response: str) -> Drop | None:
        share = repeated_line_share(response)
        if share <= self._config.max_line_share:
            return None
        return Drop("repeated_lines", {"share": round(share, 3)})

    def _judge_size(self, response: str) -> Drop | None:
        config = self._config
        prose = "\n".join(prose_lines(response))
        if len(prose) < config.min_prose_chars:
            return None
        ratio = least_compressed_size(prose, config.window_bytes)
        if ratio >= config.min_compressed_size:
            return None
        return Drop("compressible", {"ratio": round(ratio, 3)})


def _phrase(text: str, loop: Loop) -> str:
    return text[loop.start : loop.start + loop.period]


def _loop_drop(reason: str, text: str, loop: Loop) -> Drop:
    return Drop(
        reason,
        {
            "phrase": _phrase(text, loop)[:_EXCERPT_CHARS],
            "repeats": round(loop.repeats, 1),
            "chars": loop.num_chars,
        },
    )
