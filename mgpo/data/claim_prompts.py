"""What a model is asked about the claims of a solution, and how its lines are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mgpo.data.prompt_template import check_folder, read_template

_BUILT_IN = Path(__file__).parent / "templates" / "clr"
_PLACE = re.compile(r"\{(problem|solution|claim|num_claims)\}")
_NEEDED: Mapping[str, frozenset[str]] = {
    "extract": frozenset({"problem", "solution", "num_claims"}),
    "verify": frozenset({"problem", "claim"}),
}
_OPTIONAL: Mapping[str, frozenset[str]] = {
    "extract": frozenset(),
    "verify": frozenset({"solution"}),
}
_END_OF_THINKING = "</think>"
# Without a part that two others could match as well: a model's line may be very long.
_NUMBERED = re.compile(r"\**CLAIM (\d{1,4})\**:\**(.*)", re.IGNORECASE)
_ANSWER = re.compile(r"\**ANSWER\**:\**(.*)", re.IGNORECASE)
_VERDICT = re.compile(r"\**VERDICT\**:\**\s*(\w*)[.*\s]*", re.IGNORECASE)
_NO_ANSWER = "none"


class ClaimTemplates:
    """The two questions, with places in braces; other braces stand for themselves."""

    def __init__(self, folder: str | None) -> None:
        """Read each file from the user's folder, or else the built-in one. Raises ConfigError."""
        check_folder(folder)
        self.texts = {
            name: read_template(_BUILT_IN / f"{name}.txt", folder, _PLACE, needed, _OPTIONAL[name])
            for name, needed in _NEEDED.items()
        }
        """By name, as they are."""

    def extract(self, problem: str, solution: str, num_claims: int) -> str:
        """Return the question for the claims of a solution."""
        places = {"problem": problem, "solution": solution, "num_claims": str(num_claims)}
        return self._fill("extract", places)

    def verify(self, problem: str, solution: str, claim: str) -> str:
        """Return the question whether a claim holds."""
        return self._fill("verify", {"problem": problem, "solution": solution, "claim": claim})

    def _fill(self, name: str, places: Mapping[str, str]) -> str:
        return _PLACE.sub(lambda place: places[place.group(1)], self.texts[name])


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a model extracted from a solution."""

    claims: tuple[str, ...]
    """At most as many as were asked for."""
    answer: str | None
    """None: it found no final answer."""
    num_claims_written: int
    """Those beyond what was asked for included."""


def read_solution(text: str) -> str:
    """Return what a trajectory says after its thinking; all of it if nothing follows or it does
    not think in tags."""
    return text.rpartition(_END_OF_THINKING)[2].strip() or text.strip()


def read_extraction(text: str, num_claims: int) -> Extracted | None:
    """Return the claims and the answer of a model's lines; None if they are not of the form.

    After the thinking, lines before the first `CLAIM n:` or `ANSWER:` are passed over. From there
    on every line that is not blank is `CLAIM n: text`, n = 1, 2, ... in order, or, once and last,
    `ANSWER: text`. Letter case and asterisks around the words do not matter.
    """
    lines = _lines_from_first(text, (_NUMBERED, _ANSWER))
    if not lines:
        return None
    answered = _ANSWER.fullmatch(lines[-1])
    answer = answered.group(1).strip(" *\t") if answered is not None else ""
    if not answer:
        return None
    claims = []
    for number, line in enumerate(lines[:-1], start=1):
        claim = _NUMBERED.fullmatch(line)
        if claim is None or int(claim.group(1)) != number or not claim.group(2).strip():
            return None
        claims.append(claim.group(2).strip())
    return Extracted(
        claims=tuple(claims[:num_claims]),
        answer=None if answer.lower().rstrip(".") == _NO_ANSWER else answer,
        num_claims_written=len(claims),
    )


def read_verdict(text: str) -> bool | None:
    """Return whether a model found a claim right; None if it does not say so in the form.

    After the thinking, the last line that is not blank is `VERDICT: true` or `VERDICT: false`, and
    no other line is a verdict.
    """
    lines = _lines_from_first(text, (_VERDICT,))
    verdict = _VERDICT.fullmatch(lines[0]) if len(lines) == 1 else None
    words: Mapping[str, bool] = {"true": True, "false": False}
    return words.get(verdict.group(1).lower()) if verdict is not None else None


def _lines_from_first(text: str, forms: tuple[re.Pattern[str], ...]) -> list[str]:
    """Return the lines after the thinking that are not blank, from the first of a form on."""
    said = text.rpartition(_END_OF_THINKING)[2]
    lines = [line.strip() for line in said.split("\n") if line.strip()]
    first = next(
        (place for place, line in enumerate(lines) if any(form.fullmatch(line) for form in forms)),
        len(lines),
    )
    return lines[first:]


CallProblem = Literal["too_long", "lost", "cut", "unreadable"]
"""Why a call brought nothing: its prompt leaves no room, no answer came, the answer was cut, or
the answer is not of the form."""
