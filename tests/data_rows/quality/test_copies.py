"""Copies among the responses to one prompt, and prompts that come twice."""

import json
import random
from typing import Any

import pytest

from mgpo.config.errors import DataError
from mgpo.config.quality import CopiesConfig
from mgpo.data.quality.copies import find_copies
from mgpo.data.quality.prompts import find_duplicate_prompts

PROMPT = "What is 5+3?"


def _words(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghij", k=6)) for _ in range(count)]


def _rows(*responses: str, prompt: Any = PROMPT) -> list[dict[str, Any]]:
    return [{"id": n, "prompt": prompt, "response": text} for n, text in enumerate(responses)]


def test_a_copy_names_the_response_that_is_kept() -> None:
    words = _words(200, seed=1)
    changed = [*words]
    changed[90] = "other"
    rows = _rows(" ".join(_words(200, 2)), " ".join(words), ", ".join(changed).upper())
    drops = find_copies(rows, CopiesConfig())
    assert {place: (drop.reason, drop.detail) for place, drop in drops.items()} == {
        2: ("copied_response", {"copy_of": 1, "similarity": round(191 / 201, 3)})
    }
    json.dumps(drops[2].detail)


def test_similarity_is_jaccard_s_of_the_ngrams() -> None:
    rows = _rows("a b c d e f", "a b c d e g")  # abc, bcd, cde of abc, bcd, cde, def, deg
    assert not find_copies(rows, CopiesConfig(ngram=3, max_similarity=0.6))
    assert find_copies(rows, CopiesConfig(ngram=3, max_similarity=0.59))[1].detail == {
        "copy_of": 0,
        "similarity": 0.6,
    }


def test_short_responses_are_compared_whole() -> None:
    rows = _rows("76 + 7 = 83", "76+7=83", "76 - 7 = 69", "83")
    assert list(find_copies(rows, CopiesConfig())) == [1]


def test_only_responses_to_the_same_prompt_are_compared() -> None:
    rows = [*_rows("a b c"), *_rows("a b c", prompt="What is 5-3?"), {"id": 9, "prompt": PROMPT}]
    assert find_copies(rows, CopiesConfig()) == {}
    chat = [{"role": "user", "content": "what is\n5+3?"}]
    assert list(find_copies([*_rows("a b c"), *_rows("a b c", prompt=chat)], CopiesConfig())) == [1]


def test_the_same_opening_is_allowed_so_many_times() -> None:
    opening = _words(60, seed=0)
    responses = [" ".join([*opening, *_words(200, seed)]) for seed in (1, 2, 3, 4)]
    config = CopiesConfig(opening_words=50, max_same_openings=2)
    drops = find_copies(_rows(*responses), config)
    assert {place: drop.reason for place, drop in drops.items()} == {
        2: "templated_opening",
        3: "templated_opening",
    }
    assert drops[2].detail == {"opening": " ".join(opening[:12]), "words": 50, "rows": 2}
    assert not find_copies(_rows(*responses), CopiesConfig(opening_words=61, max_same_openings=1))


def test_later_rows_with_the_same_prompt_are_dropped() -> None:
    rows = [
        {"id": "a", "prompt": "Cafe\u0301: what is  5+3?", "reference": "8"},
        {"id": "b", "prompt": "What is 5-3?", "reference": "2"},
        {"id": "c", "prompt": [{"role": "user", "content": "caf\u00e9: What is\n5+3? "}]},
        {"id": "d", "prompt": "Caf\u00e9: what is 5+3?", "reference": "8"},
    ]
    drops = find_duplicate_prompts(rows)
    assert {place: (drop.reason, drop.detail) for place, drop in drops.items()} == {
        2: ("duplicate_prompt", {"same_as": "a", "same_reference": False}),
        3: ("duplicate_prompt", {"same_as": "a", "same_reference": True}),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 3\u00b2?", "What is 32?"),
        ("Is 5>3?", "Is 5<3?"),
        ("Add 1 2", "Add 12"),
        ("2+2?", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]),
        ([{"role": "system", "content": "2+2?"}], [{"role": "user", "content": "2+2?"}]),
    ],
)
def test_other_prompts_are_no_duplicates(one: Any, other: Any) -> None:
    assert find_duplicate_prompts([{"prompt": one}, {"prompt": other}]) == {}


@pytest.mark.parametrize("prompt", [None, 5, [], ["x"], [{"role": "user"}], [{"role": 1}]])
def test_a_prompt_that_is_neither_text_nor_chat_is_named(prompt: Any) -> None:
    with pytest.raises(DataError, match="row 'a', field prompt: must be text or chat messages"):
        find_duplicate_prompts([{"id": "a", "prompt": prompt}])
