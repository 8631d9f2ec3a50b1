"""What a request comes to: the rewards that grade it, their options, and their deadlines.

A weighted sum has no options or deadline of its own; each of its parts has those of its reward.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewards.config import RewardConfig
from rewards.registry import WEIGHTED, check_reference
from rewards.types import ScoreRequest


def reward_names(name: str, reference: Any) -> list[str]:
    """Return the rewards that grade a row: the named one, or those that a weighted sum adds up.

    A reward that several parts name comes several times; faulty parts are left out.
    """
    return [inner for inner, _ in graded_parts(name, reference)]


def graded_parts(name: str, reference: Any) -> list[tuple[str, Any]]:
    """Return the rewards that grade a row as `reward_names` does, each with its reference."""
    if name != WEIGHTED:
        return [(name, reference)]
    return [
        inner
        for row in _part_rows(reference)
        for inner in graded_parts(row["reward"], _reference_of(row, reference))
    ]


def longest_s(request: ScoreRequest, config: RewardConfig) -> float:
    """Return how long the gradings of a request may take, one after the other."""
    names = reward_names(request.reward, request.reference)
    return sum(config.deadline_s(name) for name in names)


def with_options(request: ScoreRequest, config: RewardConfig) -> ScoreRequest:
    """Return a request with the options of its reward, or of each part of a weighted sum.

    What the row itself says comes first, then what `reward.options` says of the part's reward, then
    what it says of `weighted`, for all parts. Null is not said.
    """
    own_options = config.options.get(request.reward, {})
    fields = {**request.fields, **_unsaid(request.fields, own_options)}
    if request.reward != WEIGHTED:
        return replace(request, fields=fields)
    reference = _with_part_options(request.reference, request.fields, config)
    return replace(request, reference=reference, fields=fields)


def check_request(request: ScoreRequest, config: RewardConfig) -> None:
    """See that the reward can grade what is asked, with its options. Raises ValueError."""
    ready = with_options(request, config)
    check_reference(ready.reward, ready.reference, ready.fields)


def _with_part_options(reference: Any, fields: Mapping[str, Any], config: RewardConfig) -> Any:
    if not list(_part_rows(reference)):
        return reference
    parts = [
        _with_own_options(row, reference, fields, config) if _is_part(row) else row
        for row in reference["parts"]
    ]
    return {**reference, "parts": parts}


def _with_own_options(
    row: Mapping[str, Any], outer: Any, fields: Mapping[str, Any], config: RewardConfig
) -> Mapping[str, Any]:
    own = row.get("fields") or {}
    if not isinstance(own, Mapping):
        return row
    said = {**fields, **{name: value for name, value in own.items() if value is not None}}
    options = config.options.get(row["reward"], {})
    part = {**row, "fields": {**own, **_unsaid(said, options)}}
    if row["reward"] == WEIGHTED:
        part["reference"] = _with_part_options(_reference_of(row, outer), said, config)
    return part


def _unsaid(fields: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    # Parquet files give each row every column, with null where the row has none.
    return {name: value for name, value in options.items() if fields.get(name) is None}


def _part_rows(reference: Any) -> Iterator[Mapping[str, Any]]:
    rows = reference.get("parts") if isinstance(reference, Mapping) else None
    return filter(_is_part, rows if isinstance(rows, Sequence) else ())


def _is_part(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("reward"), str)


def _reference_of(row: Mapping[str, Any], outer: Any) -> Any:
    own = row.get("reference")
    return outer.get("reference") if own is None else own
