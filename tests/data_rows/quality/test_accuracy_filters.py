"""Filters by accuracy and length: the edges, and rows they have no say about."""

import json
from typing import Any

import pytest

from mgpo.config.errors import DataError
from mgpo.data.quality.accuracy import AllOrNone, EasyPrompt, FewTokens
from mgpo.data.quality.types import Filter


def _reason(filter_: Filter, **record: Any) -> str | None:
    drop = filter_.judge({"id": "a", **record})
    if drop is None:
        return None
    json.dumps(drop.detail)
    return drop.reason


def test_prompts_below_the_error_rate_are_dropped() -> None:
    hard = EasyPrompt(0.75, lambda record: record["domain"] == "math")
    assert _reason(hard, domain="math", accuracy=0.25) is None
    assert _reason(hard, domain="math", accuracy=0) is None
    assert _reason(hard, domain="math", accuracy=0.375) == "easy_prompt"
    assert _reason(EasyPrompt(0.1, lambda _: True), accuracy=0.9) is None


def test_rows_without_a_verifier_pass_untouched() -> None:
    hard = EasyPrompt(0.75, lambda record: record["domain"] == "math")
    assert _reason(hard, domain="chat") is None
    assert _reason(hard, domain="chat", accuracy=1.0) is None
    assert _reason(hard, domain="math") == "accuracy_unknown"


def test_prompts_solved_always_or_never_are_dropped() -> None:
    informative = AllOrNone()
    assert _reason(informative, accuracy=1.0, accuracy_n=8) == "always_solved"
    assert _reason(informative, accuracy=0, accuracy_n=8) == "never_solved"
    assert _reason(informative, accuracy=0.999, accuracy_n=1000) is None
    assert _reason(informative, accuracy=1.0) is None
    assert _reason(informative, accuracy_n=8) is None


def test_responses_of_few_tokens_are_dropped() -> None:
    long = FewTokens(3, lambda text: len(text.split()))
    assert _reason(long, response="a b c") is None
    assert _reason(long, response="a b") == "few_tokens"
    assert _reason(long, prompt="a b") is None


@pytest.mark.parametrize("accuracy", [-0.1, 1.1, "0.5", True, float("nan")])
def test_an_accuracy_that_is_none_is_named(accuracy: Any) -> None:
    message = "row 'a', field accuracy: must be a number from 0 to 1, got"
    for filter_ in (AllOrNone(), EasyPrompt(0.75, lambda _: True)):
        with pytest.raises(DataError, match=message):
            filter_.judge({"id": "a", "accuracy": accuracy, "accuracy_n": 8})
