"""Settings of the judge model, read from the file that the variable MGPO_JUDGE names.

A file, because it reaches every process that grades: the variable is inherited by Ray's actors and
by their grading processes, and secrets stay out of it.
"""

import difflib
import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import yaml

FILE_VARIABLE = "MGPO_JUDGE"
"""Environment variable: path of a YAML (or JSON) file with the fields of JudgeSettings."""
_LEAST = {
    "timeout_s": 0.1,
    "max_retries": 0,
    "max_concurrent_requests": 1,
    "votes": 1,
    "temperature": 0,
    "max_completion_tokens": 1,
    "max_response_chars": 200,
    "input_price": 0,
    "output_price": 0,
}


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """Which model judges, how it is reached, and what it may take."""

    endpoint: str
    """Base URL of an OpenAI-compatible server, e.g. http://localhost:8000/v1."""
    model: str
    """The model's name at that server."""
    api_key_env: str = ""
    """Environment variable that holds the key; empty: the server needs none."""
    timeout_s: float = 60.0
    """Of one answer, retries and their pauses included. An answer that can't be used is asked for
    once more: keep `reward.timeout_s` above twice this."""
    max_retries: int = 2
    """New tries after a lost connection or the HTTP codes 408, 409, 429, 5xx, ever later."""
    max_concurrent_requests: int = 8
    """Of one client. A grading process has one, and grades one response at a time."""
    votes: int = 1
    """Answers per response, each with its own order of the criteria; odd. `rubric` only."""
    temperature: float | None = 0.0
    """null: not sent, for models that accept none."""
    max_completion_tokens: int = 4096
    """Of one answer, the judge's own thinking included."""
    max_response_chars: int = 12_000
    """A longer response is shown by its beginning and end, and the judge is told."""
    seed: int = 0
    """Of the order of the criteria, the marker around the response, and the sampling."""
    input_price: float = 0.0
    """Per million tokens, in any currency."""
    output_price: float = 0.0
    """Per million tokens, in the same currency."""

    def __post_init__(self) -> None:
        for key, allowed in get_type_hints(JudgeSettings).items():
            _check_type(key, getattr(self, key), allowed)
        if not self.endpoint.startswith(("http://", "https://")):
            raise ValueError(f"endpoint must start with http:// or https://, got {self.endpoint!r}")
        if not self.model:
            raise ValueError("model must not be empty")
        if self.votes % 2 == 0:
            raise ValueError(f"votes must be odd, so that there is a majority, got {self.votes}")
        for key, least in _LEAST.items():
            value = getattr(self, key)
            if value is not None and not least <= value < math.inf:
                raise ValueError(f"{key} must be at least {least}, got {value}")

    def api_key(self) -> str:
        """Return the key, or a stand-in where the server needs none. Raises ValueError."""
        if not self.api_key_env:
            return "none"
        key = os.environ.get(self.api_key_env, "")
        if not key:
            raise ValueError(
                f"judge settings: api_key_env names the variable {self.api_key_env}, "
                "which is not set in the grading process"
            )
        return key


def judge_settings() -> JudgeSettings:
    """Return the settings of this process. Raises ValueError that says what to change."""
    path = os.environ.get(FILE_VARIABLE, "")
    if not path:
        raise ValueError(
            f"no judge: set the variable {FILE_VARIABLE} to a YAML file with `endpoint` and `model`"
        )
    return read_judge_settings(path)


@functools.lru_cache
def read_judge_settings(path: str) -> JudgeSettings:
    """Read a settings file, once per process. Raises ValueError that names file and key."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return _settings(values)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError) as problem:
        raise ValueError(f"judge settings {path} (from {FILE_VARIABLE}): {problem}") from problem


def _settings(values: Any) -> JudgeSettings:
    if not isinstance(values, Mapping):
        raise ValueError(f"must be a mapping of settings, got {type(values).__name__}")
    known = list(get_type_hints(JudgeSettings))
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown setting {key!r}; allowed are {', '.join(known)}{hint}")
    missing = [key for key in ("endpoint", "model") if key not in values]
    if missing:
        raise ValueError(f"{' and '.join(missing)} must be set")
    return JudgeSettings(**values)


def _check_type(key: str, value: Any, allowed: Any) -> None:
    accepted = (int | allowed) if allowed in (float, float | None) else allowed
    if isinstance(value, bool) or not isinstance(value, accepted):
        name = getattr(allowed, "__name__", str(allowed))
        raise ValueError(f"{key} must be of type {name}, got {value!r}")
