"""Kinds of keyword arguments of constraints: what a row may say, and what checks get.

A kind turns the value of a row into the value that the check gets, or raises ValueError with what
is allowed. IFBench writes whole numbers as floats (5.0), which every kind of number takes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema
import regex

from rewards.constraints.language import LANGUAGES, base_code

Kind = Callable[[Any], Any]

RELATIONS = ("less than", "at least", "at most", "more than", "exactly")
OFFICIAL_RELATIONS = RELATIONS[:2]
MAX_PATTERN_CHARS = 2000


def count(value: Any) -> int:
    """Take a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("a whole number from 0 on")
    if value < 0:
        raise ValueError("a whole number from 0 on")
    return int(value)


def position(value: Any) -> int:
    """Take a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("a whole number from 1 on")
    if value < 1:
        raise ValueError("a whole number from 1 on")
    return int(value)


def percentage(value: Any) -> float:
    """Take a number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError("a number from 0 to 100")
    return float(value)


def flag(value: Any) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def text(value: Any) -> str:
    """Take a string with something in it besides white space; what surrounds it is dropped."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a string that is not blank")
    return value.strip()


def raw_text(value: Any) -> str:
    """Take a string that is not empty, as it is."""
    if not isinstance(value, str) or not value:
        raise ValueError("a string that is not empty")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Take a list of one or more strings that are not blank."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_list or not value:
        raise ValueError("a list of strings, at least one")
    return tuple(text(each) for each in value)


def raw_texts(value: Any) -> tuple[str, ...]:
    """Take a list of one or more strings that are not empty, as they are."""
    texts(value)
    return tuple(value)


def relation(value: Any) -> str:
    """Take a comparison."""
    return _one_of(value, RELATIONS)


def official_relation(value: Any) -> str:
    """Take a comparison that the official code knows."""
    return _one_of(value, OFFICIAL_RELATIONS)


def _one_of(value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"one of {', '.join(allowed)}")
    return value


def letter(value: Any) -> str:
    """Take one character."""
    if not isinstance(value, str) or len(value.strip()) != 1:
        raise ValueError("one character")
    return value.strip()


def language(value: Any) -> str:
    """Take the ISO 639-1 code of a language that can be told."""
    if not isinstance(value, str) or base_code(value) not in LANGUAGES:
        raise ValueError(f"a language code, one of {', '.join(sorted(LANGUAGES))}")
    return value.lower()


def pattern(value: Any) -> str:
    """Take a regular expression of the `regex` package."""
    if not isinstance(value, str) or not value or len(value) > MAX_PATTERN_CHARS:
        raise ValueError(f"a regular expression of 1 to {MAX_PATTERN_CHARS} characters")
    try:
        regex.compile(value)
    except (regex.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"a regular expression; this one says {problem}") from problem
    return value


def patterns(value: Any) -> tuple[str, ...]:
    """Take a list of one or more regular expressions."""
    return tuple(pattern(each) for each in raw_texts(value))


def schema(value: Any) -> Mapping[str, Any]:
    """Take a JSON schema (draft 2020-12 where `$schema` names no other) that needs no other."""
    if not isinstance(value, Mapping):
        raise ValueError("a JSON schema as an object")
    validator = jsonschema.validators.validator_for(value, default=jsonschema.Draft202012Validator)
    try:
        validator.check_schema(value)
    except jsonschema.SchemaError as problem:
        raise ValueError(f"a valid JSON schema; this one: {problem.message}") from problem
    for reference in _references(value):
        if not _is_inside(value, reference):
            raise ValueError(f"a JSON schema whose $ref name a place in it; not {reference!r}")
    try:
        validator(value).is_valid(None)
    except RecursionError as problem:
        raise ValueError("a JSON schema that does not refer to itself without end") from problem
    return value


def _references(node: Any) -> list[str]:
    """Return the values of $ref, at any depth."""
    if isinstance(node, Mapping):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for each in node.values() for found in _references(each)]
    if isinstance(node, list):
        return [found for each in node for found in _references(each)]
    return []


def _is_inside(schema: Mapping[str, Any], reference: str) -> bool:
    """Whether a JSON pointer such as #/$defs/name leads somewhere."""
    node: Any = schema
    if reference != "#" and not reference.startswith("#/"):
        return False
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or name not in node:
            return False
        node = node[name]
    return True


def at_most(lower: str, upper: str) -> Callable[[Mapping[str, Any]], str]:
    """Return an objection to a lower limit above its upper one, where both are given."""

    def objection(kwargs: Mapping[str, Any]) -> str:
        is_wrong = lower in kwargs and upper in kwargs and kwargs[lower] > kwargs[upper]
        return f"{lower} must not be above {upper}" if is_wrong else ""

    return objection


def some_limit(lower: str, upper: str) -> Callable[[Mapping[str, Any]], str]:
    """Return an objection to limits of which none is given or the lower is above the upper."""

    def objection(kwargs: Mapping[str, Any]) -> str:
        if lower not in kwargs and upper not in kwargs:
            return f"give {lower}, {upper} or both"
        return at_most(lower, upper)(kwargs)

    return objection
