"""A row's reference: the answer, its options, unit and tolerance."""

import difflib
import math
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewards.choices import equality
from rewards.choices.quantities import read_quantity

_KEYS = ("answer", "options", "unit", "tolerance")
_MAX_CHARS = 2000
_KEY = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\].:]?")
_LETTERS = re.compile(r"[(\[]?[A-Za-z][)\]]?(?:\s*(?:,|;|/|and|&)?\s*[(\[]?[A-Za-z][)\]]?)*")
_CHOICE_LETTERS = frozenset("ABCDEFGHIJ")


@dataclass(frozen=True, slots=True)
class Question:
    """What a response is compared with."""

    letters: frozenset[str]
    """Of the right options; of the answer if it is a letter itself; else none."""
    text: str
    """The right answer as text: an option's, or the reference's with its unit."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Letter -> text; empty for an open question."""
    tolerance: float | None = None
    """Relative; None: by the digits of the reference."""


def read_question(reference: Any, fields: Mapping[str, Any]) -> Question:
    """Return the question of a row; raises ValueError that names the field and what it may be."""
    if not isinstance(reference, Mapping):
        reference = {"answer": reference}
    if "options" in fields and "options" not in reference:
        raise ValueError("options are read from reference.options: move the field there")
    for key in reference:
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"reference.{key} is unknown: allowed are {', '.join(_KEYS)}{hint}")
    if reference.get("answer") is None:
        raise ValueError("reference.answer is missing: a letter, an option's text or a value")
    options = _read_options(reference.get("options"))
    tolerance = _read_tolerance(reference.get("tolerance"))
    unit = _read_unit(reference.get("unit"))
    if options:
        return _with_options(reference["answer"], options, unit, tolerance)
    return _open(reference["answer"], unit, tolerance)


def _with_options(
    answer: Any, options: dict[str, str], unit: str, tolerance: float | None
) -> Question:
    if isinstance(answer, int | float):
        raise ValueError(
            f"reference.answer is the number {answer!r} beside options: an index or a value? "
            "Give the option's letter, or its text as a string"
        )
    letters = _letters_of(answer, frozenset(options))
    if not letters:
        text = _text(answer, "reference.answer")
        letters = frozenset(
            letter
            for letter, option in options.items()
            if equality.words(option) == equality.words(text)
        ) or frozenset(
            letter
            for letter, option in options.items()
            if equality.is_same(option, _quantity_text(text, unit), tolerance)
        )
        if len({equality.words(options[letter]) for letter in letters}) != 1:
            raise ValueError(
                f"reference.answer {text!r:.80} is not exactly one of reference.options: give a "
                f"letter among {', '.join(options)}, or an option's text"
            )
    if unit:
        options = {letter: _quantity_text(text, unit) for letter, text in options.items()}
    text = "; ".join(options[letter] for letter in sorted(letters))
    return Question(letters, text, options, tolerance)


def _open(answer: Any, unit: str, tolerance: float | None) -> Question:
    letters = _letters_of(answer, _CHOICE_LETTERS)
    text = ", ".join(sorted(letters)) if letters else _text(answer, "reference.answer")
    if unit:
        letters, text = frozenset(), _quantity_text(text, unit)
    if not letters and not equality.is_readable(text):
        raise ValueError(f"reference.answer {text!r:.80} is no value, formula or word that we read")
    return Question(letters, text, {}, tolerance)


def _letters_of(answer: Any, allowed: frozenset[str]) -> frozenset[str]:
    """Return the letters if that is all that the answer says; without options only one."""
    if isinstance(answer, list | tuple):
        found = [str(each).strip().upper() for each in answer]
        if not found or not set(found) <= allowed:
            raise ValueError(
                f"reference.answer {answer!r:.80} is a list of other things than letters: allowed "
                f"are {', '.join(sorted(allowed))}"
            )
        return frozenset(found)
    text = str(answer).replace("$", "").strip().rstrip(".")
    if not _LETTERS.fullmatch(text) or (text.islower() and len(text) > 1):
        return frozenset()
    named = [each.upper() for each in re.findall("[A-Za-z]", re.sub(r"\band\b", ",", text))]
    is_list = len(named) == 1 or not re.fullmatch("[A-Za-z]+", text) or allowed != _CHOICE_LETTERS
    is_usable = set(named) <= allowed and len(set(named)) == len(named) and is_list
    return frozenset(named) if is_usable else frozenset()


def _read_options(options: Any) -> dict[str, str]:
    if options is None:
        return {}
    if isinstance(options, list | tuple):
        if len(options) > len(string.ascii_uppercase):
            raise ValueError(f"reference.options has {len(options)} entries: at most 26 are read")
        options = dict(zip(string.ascii_uppercase, options, strict=False))
    if not isinstance(options, Mapping):
        raise ValueError(
            f"reference.options must be a mapping from letters to texts or a list of texts, got "
            f"{type(options).__name__}"
        )
    if len(options) < 2:
        raise ValueError(f"reference.options has {len(options)} entries: at least two, or null")
    found: dict[str, str] = {}
    for key, text in options.items():
        match = _KEY.fullmatch(str(key))
        if match is None or match[1].upper() in found:
            raise ValueError(f"reference.options key {key!r:.40}: allowed are single letters, once")
        letter = match[1].upper()
        plain = _text(text, f"reference.options.{letter}")
        found[letter] = re.sub(rf"^(?:\({letter}\)|{letter}[.):])\s+(?=\S)", "", plain)
    return found


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{name} must be a text or a number, got {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    text = str(value).strip()
    if not text or len(text) > _MAX_CHARS:
        raise ValueError(f"{name} has {len(text)} characters: allowed are 1 to {_MAX_CHARS}")
    return text


def _read_tolerance(tolerance: Any) -> float | None:
    if tolerance is None:
        return None
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= tolerance < 1:
        raise ValueError(
            f"reference.tolerance must be a relative one, from 0 to below 1, got {tolerance!r:.40}"
        )
    return float(tolerance)


def _read_unit(unit: Any) -> str:
    if unit is None or unit == "":
        return ""
    text = _text(unit, "reference.unit")
    measured = read_quantity(f"1 {text}")
    if measured is None or measured.unit is None:
        raise ValueError(f"reference.unit {text!r:.40} is no unit, such as m/s^2, kJ/mol or apples")
    return text


def _quantity_text(text: str, unit: str) -> str:
    """Return a value with the row's unit, where it names none itself."""
    if not unit:
        return text
    quantity = read_quantity(text)
    if quantity is not None and quantity.unit is not None:
        return text
    return (
        rf"{text.strip('$ ')}\ \text{{{unit}}}"
        if "\\" not in unit
        else f"{text.strip('$ ')} {unit}"
    )
