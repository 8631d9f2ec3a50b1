"""Filters by a reference model's accuracy on the row's prompt, and by the response's length."""

import math
from collections.abc import Callable

from mgpo.data.quality.types import Drop, Record, number_of, response_of


def error_rate(record: Record) -> float | None:
    """Return 1 - `accuracy`, or None without one. Raises DataError unless it is from 0 to 1.

    Rounded to a billionth, so that an accuracy of 0.9 has the error rate 0.1.
    """
    accuracy = number_of(record, "accuracy", 0, 1)
    return None if accuracy is None else round(1 - accuracy, 9)


class EasyPrompt:
    """Drops prompts that the reference model fails too rarely.

    `has_verifier` says whether a row's reward can tell right from wrong; rows of which it cannot
    are kept. A row that could be verified and has no accuracy is dropped: nobody knows that it is
    hard.
    """

    name = "easy_prompt"

    def __init__(self, min_error_rate: float, has_verifier: Callable[[Record], bool]) -> None:
        self._min_error_rate = min_error_rate
        self._has_verifier = has_verifier

    def judge(self, record: Record) -> Drop | None:
        """Reasons: easy_prompt, accuracy_unknown."""
        if not self._has_verifier(record):
            return None
        rate = error_rate(record)
        if rate is None:
            return Drop("accuracy_unknown")
        if rate >= self._min_error_rate:
            return None
        return Drop("easy_prompt", {"error_rate": rate})


class AllOrNone:
    """Drops prompts that the reference model solves always or never.

    Rows need `accuracy` and `accuracy_n`, the number of tries; others are kept.
    """

    name = "all_or_none"

    def judge(self, record: Record) -> Drop | None:
        """Reasons: always_solved, never_solved."""
        accuracy = number_of(record, "accuracy", 0, 1)
        num_tries = number_of(record, "accuracy_n", 1, math.inf)
        if accuracy is None or num_tries is None or 0 < accuracy < 1:
            return None
        return Drop(
            "always_solved" if accuracy == 1 else "never_solved", {"accuracy_n": int(num_tries)}
        )


class FewTokens:
    """Drops responses of few tokens, as `count_tokens` counts them; rows without one are kept."""

    name = "few_tokens"

    def __init__(self, min_tokens: int, count_tokens: Callable[[str], int]) -> None:
        self._min_tokens = min_tokens
        self._count_tokens = count_tokens

    def judge(self, record: Record) -> Drop | None:
        """Reason: few_tokens."""
        response = response_of(record)
        if response is None:
            return None
        num_tokens = self._count_tokens(response)
        return (
            None if num_tokens >= self._min_tokens else Drop("few_tokens", {"tokens": num_tokens})
        )
