"""The `weighted` reward: a weighted sum of rewards to train on; one of them gives the verdict.

Accuracy and the MGPO weight read verdicts, so nothing that shapes the sum can change them. Each
part is a request of its own, so its options, its deadline and its process are what they are for
that reward alone; rewards.killable_pool sends them and puts the outcomes together here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewards import registry
from rewards.types import Outcome, ScoreRequest, error

_MATH = {"reward": "math", "weight": 2.0, "reference": "12"}
SELF_TEST = [
    (r"\boxed{12}", {"parts": [_MATH], "verdict": "math"}, True),
    (r"\boxed{13}", {"parts": [_MATH], "verdict": "math"}, False),
]
"""(response, reference, expected verdict)."""

_KEYS = ("reward", "weight", "reference", "fields", "correct_from")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One reward of the sum."""

    reward: str
    weight: float
    reference: Any
    fields: Mapping[str, Any]
    correct_from: float | None = None
    """Value from which a graded reward counts as correct; needed if it gives the verdict."""


def split(request: ScoreRequest) -> "WeightedSum":
    """Read what a request asks to add up.

    `reference` is `{"parts": [{"reward", "weight", "reference", "fields", "correct_from"}, ...],
    "verdict": NAME, "reference": ...}`: NAME is the reward of the part that gives the verdict; a
    part without a reference gets the one beside the parts; a part's fields come on top of the
    row's. Raises ValueError that says what is wrong.
    """
    return WeightedSum(request, *read_parts(request.reference, request.fields))


def check_reference(reference: Any, **fields: Any) -> None:
    """See that the parts exist and can grade their row, when rows are loaded. Raises ValueError."""
    parts, _ = read_parts(reference, fields)
    for part in parts:
        try:
            registry.check_reference(part.reward, part.reference, part.fields)
        except ValueError as problem:
            raise ValueError(f"part {part.reward}: {problem}") from problem


def read_parts(reference: Any, fields: Mapping[str, Any]) -> tuple[list[Part], int]:
    """Check the parts; also return which one gives the verdict. Raises ValueError."""
    rows = reference.get("parts") if isinstance(reference, Mapping) else None
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise ValueError(
            'the reference must be {"parts": [{"reward": ..., "weight": ...}, ...], "verdict": ...}'
        )
    parts = [_part(row, reference.get("reference"), fields) for row in rows]
    name = reference.get("verdict")
    places = [place for place, part in enumerate(parts) if part.reward == name]
    if len(places) != 1:
        raise ValueError(
            f"verdict must name the reward of one part, got {name!r}; "
            f"the parts are {', '.join(part.reward for part in parts)}"
        )
    return parts, places[0]


def _part(row: Any, reference: Any, fields: Mapping[str, Any]) -> Part:
    if not isinstance(row, Mapping):
        raise ValueError(f"a part must be a mapping, got {type(row).__name__}")
    # Parquet files give each row every column, with null where the row has none.
    values = {key: value for key, value in row.items() if value is not None}
    if unknown := [str(key) for key in values if key not in _KEYS]:
        raise ValueError(
            f"a part has unknown keys {', '.join(unknown)}; allowed are {', '.join(_KEYS)}"
        )
    name, own_fields = values.get("reward"), values.get("fields", {})
    if not isinstance(name, str) or not isinstance(own_fields, Mapping):
        raise ValueError(f"a part needs a reward's name, and fields that are a mapping: {row!r}")
    if not _is_number(values.get("weight")):
        raise ValueError(f"part {name}: weight must be a number, got {values.get('weight')!r}")
    if "correct_from" in values and not _is_number(values["correct_from"]):
        raise ValueError(
            f"part {name}: correct_from must be a number, got {values['correct_from']!r}"
        )
    return Part(
        reward=name,
        weight=float(values["weight"]),
        reference=values.get("reference", reference),
        fields={**fields, **{key: each for key, each in own_fields.items() if each is not None}},
        correct_from=values.get("correct_from"),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The parts of one request, and which of them gives the verdict."""

    request: ScoreRequest
    parts: Sequence[Part]
    verdict: int

    def requests(self) -> list[ScoreRequest]:
        """Return a request per part."""
        return [
            replace(self.request, reward=part.reward, reference=part.reference, fields=part.fields)
            for part in self.parts
        ]

    def combine(self, outcomes: Sequence[Outcome]) -> Outcome:
        """Return the sum of weight times value, with the verdict of one part.

        Without the verdict or value of any part the whole is an error, with that part's reason.
        """
        outcomes = [_judged(*each) for each in zip(self.parts, outcomes, strict=True)]
        failed = [place for place, each in enumerate(outcomes) if not each.is_valid]
        detail: dict[str, Any] = {"parts": list(map(_shown, self.parts, outcomes))}
        time_s = math.fsum(each.time_s for each in outcomes)
        if failed:
            names = [self.parts[place].reward for place in failed]
            failure = error(outcomes[failed[0]].reason, failed=names, **detail)
            return replace(failure, time_s=time_s)
        judge, judged = self.parts[self.verdict], outcomes[self.verdict]
        if judged.is_graded and judge.correct_from is None:
            return error(
                "graded_verdict",
                problem=f"{judge.reward} gives a number, not a verdict: add correct_from, the "
                "value from which it counts as correct, to its part",
            )
        try:
            value = math.fsum(map(_weighed, self.parts, outcomes))
        except (OverflowError, ValueError):  # beyond the largest float, or inf - inf
            value = math.nan
        if not math.isfinite(value):
            return error("not_finite", **detail)
        return Outcome(
            status="ok",
            correct=judged.correct,
            value=value,
            reason=judged.reason,
            detail=detail,
            time_s=time_s,
        )


def _judged(part: Part, outcome: Outcome) -> Outcome:
    """A number is a verdict from the part's own threshold on, and else none."""
    if not (outcome.is_valid and outcome.is_graded):
        return outcome
    threshold = math.inf if part.correct_from is None else part.correct_from
    return replace(outcome, correct=outcome.value >= threshold)


def _weighed(part: Part, outcome: Outcome) -> float:
    return part.weight * outcome.value


def _shown(part: Part, outcome: Outcome) -> dict[str, Any]:
    return {
        "reward": part.reward,
        "weight": part.weight,
        "verdict": outcome.word,
        "value": outcome.value,
        "reason": outcome.reason,
        "detail": dict(outcome.detail),
    }
