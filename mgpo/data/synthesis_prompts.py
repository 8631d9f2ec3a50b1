"""What models are asked in synthesis, and how their JSON answers are read."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mgpo.data.prompt_template import check_folder, read_template

CRITERIA = ("complete", "reasonable", "valid", "tests_the_point")
"""What the judge says of a query."""

PROBLEM_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"problem": {"type": "string"}},
    "required": ["problem"],
    "additionalProperties": False,
}
VERDICT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "boolean"} for name in CRITERIA},
    "required": list(CRITERIA),
    "additionalProperties": False,
}

_BUILT_IN = Path(__file__).parent / "templates" / "synthesize"
_PLACE = re.compile(r"\{(problem|other_problem)\}")
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_NEEDED: Mapping[str, tuple[str, ...]] = {"concept_composition": ("problem", "other_problem")}
_NEEDED_BY_ALL = ("problem",)


class Templates:
    """Texts with the places {problem} and {other_problem}; other braces stand for themselves."""

    def __init__(self, names: Iterable[str], folder: str | None) -> None:
        """Read NAME.txt from the user's folder, or else the built-in one. Raises ConfigError."""
        self._texts = {name: _read(name, folder) for name in sorted(names)}
        check_folder(folder)

    def fill(self, name: str, **texts: str) -> str:
        """Return a template with the texts in their places."""
        return _PLACE.sub(lambda place: texts[place.group(1)], self._texts[name])

    def sha256(self, name: str) -> str:
        """Return the hash of a template."""
        return hashlib.sha256(self._texts[name].encode()).hexdigest()


def _read(name: str, folder: str | None) -> str:
    needed = set(_NEEDED.get(name, _NEEDED_BY_ALL))
    return read_template(_BUILT_IN / f"{name}.txt", folder, _PLACE, needed)


def read_problem(text: str) -> str | None:
    """Return the problem of a writer's answer; None if the answer is not what was asked for."""
    values = _read_object(text)
    problem = values.get("problem") if values is not None and set(values) == {"problem"} else None
    return problem.strip() or None if isinstance(problem, str) else None


def read_verdict(text: str) -> Mapping[str, bool] | None:
    """Return a judge's verdict by criterion; None if the answer is not what was asked for."""
    values = _read_object(text)
    if values is None or set(values) != set(CRITERIA):
        return None
    return values if all(isinstance(value, bool) for value in values.values()) else None


def _read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that an answer is, after its thinking and without a fence."""
    answer = text.rpartition("</think>")[2].strip()
    fenced = _FENCED.fullmatch(answer)
    try:
        # Not strict: line breaks may stand in strings as they are.
        values = json.loads(fenced.group(1) if fenced else answer, strict=False)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
