"""A verdict on one constraint, and kwargs for every id, for the tests of the constraints reward."""

from typing import Any

from rewards.constraints.reward import CATALOGUES, grade

_KWARGS = {
    "capital_frequency": 2,
    "capital_relation": "at least",
    "descending": True,
    "end_phrase": "the end",
    "first_word": "weather",
    "forbidden_words": ["rock", "dull"],
    "frequency": 2,
    "keyword": "amber",
    "keyword1": "art",
    "keyword2": "sun",
    "keyword3": "oak",
    "keyword4": "elm",
    "keyword5": "fig",
    "keywords": ["lantern", "harbor"],
    "language": "de",
    "let_frequency": 3,
    "let_relation": "at least",
    "letter": "z",
    "m": 2,
    "max_characters": 40,
    "max_repetition": 50,
    "max_sentences": 3,
    "max_words": 7,
    "min_characters": 5,
    "min_sentences": 1,
    "min_words": 2,
    "N": 2,
    "n": 1,
    "n_end": 3,
    "n_start": 1,
    "nth_paragraph": 1,
    "num_bullets": 2,
    "num_highlights": 2,
    "num_items": 2,
    "num_paragraphs": 2,
    "num_placeholders": 2,
    "num_sections": 2,
    "num_sentences": 2,
    "num_words": 5,
    "options": "yes/no/maybe",
    "pattern": r"^\w+ \d+$",
    "percentage": 50,
    "postscript_marker": "P.S.",
    "prompt_to_repeat": "Name two colours of the sea.",
    "reference_text": "the sea is blue and green",
    "relation": "at least",
    "schema": {"type": "object", "required": ["name"]},
    "section_spliter": "SECTION",
    "sep": "SEPARATOR",
    "small_n": 2,
    "word": "copper",
}


def example_kwargs(name: str, compat: str | None = None) -> dict[str, Any]:
    """Return kwargs that the constraint takes."""
    constraint = CATALOGUES[compat][name]
    return {key: _KWARGS[key] for key in (*constraint.kwargs, *constraint.optional)}


def is_met(text: str, name: str, compat: str | None = None, **kwargs: Any) -> bool:
    """Return the verdict on a text; fails where there is none."""
    reference = {"constraints": [{"id": name, "kwargs": kwargs}]}
    outcome = grade(text, reference, compat=compat)
    assert outcome.is_valid, outcome
    return outcome.correct
