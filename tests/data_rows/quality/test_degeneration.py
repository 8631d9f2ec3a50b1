"""Loops and repetitions are dropped, whatever breaks them off; worked solutions are kept."""

import importlib
import itertools
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mgpo.config.errors import DataError
from mgpo.config.quality import RepetitionConfig, ResponseConfig
from mgpo.data.quality.degeneration import RepetitiveResponse, UnfinishedResponse

TINY = Path(__file__).parents[3] / "experiments" / "tiny"
SOLUTION = (
    "Let the two numbers be $x$ and $y$ with $x + y = 20$ and $xy = 96$. Squaring the sum gives "
    "$x^2 + 2xy + y^2 = 400$, so $(x - y)^2 = 400 - 384 = 16$ and the difference is 4. Therefore "
    "the larger number is 12 and the smaller one is 8, and the answer is $\\boxed{12}$.\n"
)
WORDS = ["river", "seven", "window", "garden", "method", "triangle", "yellow", "proof", "square"]


def _judge(response: str, config: RepetitionConfig | None = None) -> str | None:
    drop = RepetitiveResponse(config or RepetitionConfig()).judge({"response": response})
    if drop is None:
        return None
    json.dumps(drop.detail)
    return drop.reason


def _unfinished(record: Mapping[str, Any], min_words: int = 2) -> str | None:
    drop = UnfinishedResponse(ResponseConfig(min_words=min_words)).judge(record)
    return None if drop is None else drop.reason


def _prose(num_words: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(num_words))
    return " ".join(words)


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_a_loop_is_dropped_wherever_it_breaks_off(cut: int) -> None:
    loop = "Wait, let me check the sum once more. " * 20
    assert _judge(SOLUTION + loop[: len(loop) - cut]) == "loop"


@pytest.mark.parametrize(
    "phrase",
    [
        "the answer is the answer is not ",
        "we get x = 4, so x = 4, ",
        "\u6240\u4ee5\u7b54\u6848\u662f\u6b63\u786e\u7684\u3002",
        "so\n\n",
        "ha",
        _prose(90) + "\n",
    ],
)
@pytest.mark.parametrize("after", ["", "\n\nThe answer is \\boxed{12}."])
def test_a_loop_of_words_is_dropped_also_before_an_answer(phrase: str, after: str) -> None:
    loop = phrase * (4 + 400 // len(phrase))
    assert _judge(SOLUTION + loop + after) == "loop"


@pytest.mark.parametrize("phrase", ["3", "0 & ", "\\[\n17016*v = 17145*v - 1677\n\\]\n", "- "])
def test_a_loop_of_symbols_is_dropped_where_the_response_ends_in_it(phrase: str) -> None:
    loop = phrase * (3 + 300 // len(phrase))
    assert _judge(SOLUTION + loop) == "loop"
    assert _judge(SOLUTION + loop + SOLUTION) is None
    assert _judge(SOLUTION + phrase * 1200 + SOLUTION) == "loop"


def test_the_detail_shows_the_loop() -> None:
    drop = RepetitiveResponse(RepetitionConfig()).judge({"response": "abc def ghi " * 100})
    assert drop is not None
    assert drop.detail == {"phrase": "abc def ghi ", "repeats": 99.9, "chars": 1199}


def test_a_response_is_kept_up_to_the_limit_of_a_loop() -> None:
    phrase = "Check it for the very last time. "
    config = RepetitionConfig(min_loop_chars=4 * len(phrase))
    assert _judge(SOLUTION + phrase * 5 + "Yes.", config) == "loop"
    assert _judge(SOLUTION + phrase * 4 + "Yes.", config) is None
    long = _prose(60) + " "
    assert _judge(SOLUTION + long * 2 + "Yes.") is None


@pytest.mark.parametrize(
    "vary",
    [
        lambda n, rng: f"Step {n}: check the value again and go on. ",
        lambda n, rng: f"Let me try {n * 7}. It does not work for {n * 7} either.\n",
        lambda n, rng: f"Wait, let me check the {rng.choice(WORDS)} in the first equation again. ",
        lambda n, rng: f"So we have to look at {rng.choice(WORDS)} and then at all of it again.\n",
    ],
)
def test_repeats_with_small_variations_are_dropped(vary: Any) -> None:
    rng = random.Random(0)
    loop = "".join(vary(number, rng) for number in range(1, 80))
    for cut in (0, 5, 11):
        assert _judge(SOLUTION + loop[: len(loop) - cut])
        assert _judge(_prose(2000) + "\n" + SOLUTION + loop[: len(loop) - cut])


def test_lines_that_take_turns_are_dropped() -> None:
    rng = random.Random(0)
    lines = [_prose(12, seed) for seed in range(8)]
    response = "\n".join(rng.choice(lines) for _ in range(60))
    assert _judge(response) in ("repeated_lines", "repeated_ngrams")
    lenient = RepetitionConfig(max_ngram_share=1)
    assert _judge(response, lenient) == "repeated_lines"
    assert _judge(response, RepetitionConfig(max_ngram_share=1, max_line_share=1)) == "compressible"


def test_an_answer_may_restate_the_thinking() -> None:
    thought = "\n".join(_prose(14, seed) for seed in range(30))
    assert _judge(f"<think>\n{thought}\n</think>\n\n{thought}") is None


def test_long_structured_text_is_kept() -> None:
    rng = random.Random(0)
    truths = "".join(
        f"| {a} | {b} | {c} | {d} | {a & b | c ^ d} |\n"
        for a, b, c, d in itertools.product((0, 1), repeat=4)
    )
    residues = "".join(f"n = {n}: {n}^2 = {n * n} = {n * n % 7} (mod 7)\n" for n in range(1, 120))
    primes = ", ".join(str(n) for n in range(2, 2000) if all(n % d for d in range(2, n)))
    zeros = "\\begin{pmatrix}\n" + "0 & 0 & 0 & 0 & 0 & 0 \\\\\n" * 8 + "\\end{pmatrix}\n"
    scores = "".join(f"| {_prose(1, n)} | {rng.randint(0, 99)} | yes |\n" for n in range(80))
    coins = "".join(
        f"If a = {a} and b = {b}, then c = {20 - a - b}, so the total is {a + b * 5}.\n"
        for a in range(5)
        for b in range(5)
    )
    for table in (truths, residues, primes, zeros, scores, coins, "-" * 120, "1+" * 60 + "1 = 61"):
        assert _judge(SOLUTION + table + SOLUTION) is None, table[:60]


def test_worked_solutions_of_the_tiny_problems_are_kept() -> None:
    sys.path.insert(0, str(TINY))
    arithmetic = importlib.import_module("arithmetic")
    for problem in itertools.islice(arithmetic.problems(random.Random(0)), 300):
        for response in (problem.columns, problem.results):
            assert _judge(response) is None
            assert _unfinished({"response": response}) is None
    digits = "".join(random.Random(1).choices("123456789", k=400))
    terms = (int(digits[:200]), int(digits[200:]))
    long = arithmetic.Problem(prompt="", terms=terms, difficulty=1).columns
    assert len(long) > 1000
    assert _judge(long) is None


def test_responses_without_a_text_are_none_of_these_filters_business() -> None:
    for response in ("", " ", "x", "\n\n", "\ud800", "?!", "\x00" * 20):
        assert _judge(response) is None
    assert RepetitiveResponse(RepetitionConfig()).judge({"prompt": "2+2?"}) is None
    with pytest.raises(DataError, match=r"row 'a', field response: must be text, got \['x'\]"):
        RepetitiveResponse(RepetitionConfig()).judge({"id": "a", "response": ["x"]})


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "empty_response"),
        (" \n", "empty_response"),
        ("42", "short_response"),
        ("**Yes.**", "short_response"),
        ("!!!", "short_response"),
        ("<think>\nLet me see", "unfinished_thinking"),
        ("  <think>Let me see", "unfinished_thinking"),
        ("<think>a b</think>c d\n<think>e f", "unfinished_thinking"),
        ("<think>a b</think><think>e f", "unfinished_thinking"),
        ("<think>\nLet me see\n</think>\n", "no_answer"),
        ("Let me see</think>", "no_answer"),
        ("<think>\nLet me see\n</think>\n42", None),
        ("Let me see</think>\n42", None),
        ("The tag <think> opens a thought", None),
        ("\u7b54\u6848", None),
        ("\\boxed{42}", None),
    ],
)
def test_unfinished_responses_are_dropped(response: str, reason: str | None) -> None:
    assert _unfinished({"response": response}) == reason


def test_the_least_number_of_words_is_the_users() -> None:
    assert _unfinished({"response": "one two three"}, min_words=4) == "short_response"
    assert _unfinished({"response": "42"}, min_words=0) is None
    assert _unfinished({"prompt": "2+2?"}) is None
