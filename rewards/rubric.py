"""The `rubric` reward: a judge model checks a response against criteria, one verdict each.

The value is the weighted share of criteria that are met. The judge never gives a number. A judge
that fails (absent, slow, refusing, off format) is an error, never a score.
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from rewards.answers import final_part
from rewards.judge_client import BadAnswer, Judge, JudgeFailure, Question
from rewards.judge_settings import JudgeSettings, judge_settings
from rewards.judged_text import JudgedText, is_quoted_from, judged_text
from rewards.rubric_prompt import SYSTEM, VERDICTS, answer_schema, user_message
from rewards.types import Outcome, error

_CAPITAL = {"rubric": [{"id": "paris", "text": "The response says that the capital is Paris."}]}
SELF_TEST = [
    ("The capital of France is Paris.", _CAPITAL, True),
    ("The capital of France is Madrid.", _CAPITAL, False),
    ("", _CAPITAL, False),
]
"""(response, reference, expected verdict): what the weakest usable judge gets right."""

_KEYS = ("id", "text", "weight", "required")
_MAX_ITEMS = 50
_MAX_CACHED = 10_000
_cache: dict[str, Outcome] = {}
"""Digest of judge, rubric and response -> outcome; errors are not kept."""

Verdict = Literal["yes", "no", "not_applicable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One criterion of a rubric."""

    id: str
    text: str
    weight: float = 1.0
    required: bool = False
    """Unless it is met, the whole response is worth 0."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one answer of the judge says on one item."""

    verdict: Verdict
    quote: str


Findings = dict[str, Finding]
"""By item id."""


async def grade(response: str, reference: Any, *, problem: str = "", **_: Any) -> Outcome:
    """Return the weighted share of rubric items that the judge finds met.

    `reference` is `{"rubric": [{"id", "text", "weight", "required"}, ...]}`; `problem`, a further
    field of the row, is the task as the judge is shown it. Only text after the last `</think>` is
    judged; where there is none, the value is 0 and nothing is asked. Raises ValueError for
    settings that can't be used.
    """
    settings = judge_settings()
    try:
        items = read_rubric(reference)
    except ValueError as mistake:
        return error("bad_reference", problem=str(mistake))
    answer = (final_part(response) or "").strip()
    if not answer:
        return Outcome(status="ok", reason="no_answer", is_graded=True)
    key = _digest(settings, items, problem, answer)
    if key in _cache:
        return _without_cost(_cache[key])
    async with Judge(settings) as judge:
        try:
            outcome = await _judged(judge, items, problem, answer)
        except JudgeFailure as failure:
            return judge.failed(failure)
    if outcome.is_valid:
        if len(_cache) >= _MAX_CACHED:
            del _cache[next(iter(_cache))]
        _cache[key] = outcome
    return outcome


def warm_up() -> None:
    """Import the client (a second or two), and read the settings, before the first deadline."""
    import openai  # noqa: F401

    judge_settings().api_key()


def check_reference(reference: Any, **_: Any) -> None:
    """See that a row's rubric is sound, when rows are loaded. Raises ValueError."""
    read_rubric(reference)


def read_rubric(reference: Any) -> tuple[Item, ...]:
    """Check a rubric. Raises ValueError that names item and key."""
    rows = reference.get("rubric") if isinstance(reference, Mapping) else None
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise ValueError('the reference must be {"rubric": [{"id": ..., "text": ...}, ...]}')
    if len(rows) > _MAX_ITEMS:
        raise ValueError(f"a rubric may have {_MAX_ITEMS} items, this one has {len(rows)}")
    items = tuple(_item(row, number) for number, row in enumerate(rows, start=1))
    twins = {item.id for item in items if sum(other.id == item.id for other in items) > 1}
    if twins:
        raise ValueError(f"item ids must differ, but {', '.join(sorted(twins))} comes twice")
    return items


def _item(row: Any, number: int) -> Item:
    if not isinstance(row, Mapping):
        raise ValueError(f"rubric item {number} must be a mapping, got {type(row).__name__}")
    # Parquet files give each row every column, with null where the row has none.
    values = {key: value for key, value in row.items() if value is not None}
    if unknown := [str(key) for key in values if key not in _KEYS]:
        raise ValueError(
            f"rubric item {number} has unknown keys {', '.join(unknown)}; "
            f"allowed are {', '.join(_KEYS)}"
        )
    for key in ("id", "text"):
        if not isinstance(values.get(key), str) or not values[key].strip():
            raise ValueError(f"rubric item {number}: {key} must be a string that is not blank")
    weight, required = values.get("weight", 1.0), values.get("required", False)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ValueError(f"rubric item {number}: weight must be a number, got {weight!r}")
    if not 0 < weight < math.inf:
        raise ValueError(f"rubric item {number}: weight must be above 0, got {weight!r}")
    if not isinstance(required, bool):
        raise ValueError(f"rubric item {number}: required must be true or false, got {required!r}")
    return Item(id=values["id"], text=values["text"], weight=float(weight), required=required)


async def _judged(judge: Judge, items: Sequence[Item], problem: str, answer: str) -> Outcome:
    settings = judge.settings
    text = judged_text(answer, max_chars=settings.max_response_chars, seed=str(settings.seed))
    votes = await asyncio.gather(
        *(_vote(judge, items, problem, text, vote) for vote in range(settings.votes))
    )
    detail: dict[str, Any] = {"judge": judge.usage.detail(settings)}
    if text.num_cut_chars:
        detail["cut_chars"] = text.num_cut_chars
    return score(items, votes, detail)


async def _vote(
    judge: Judge, items: Sequence[Item], problem: str, text: JudgedText, vote: int
) -> Findings:
    def pose(attempt: int) -> Question[Findings]:
        seed = judge.settings.seed + 2 * vote + attempt
        shuffled = _shuffled(items, seed)
        keys = {f"c{place}": item.id for place, item in enumerate(shuffled, start=1)}
        criteria = {key: item.text for key, item in zip(keys, shuffled, strict=True)}
        return Question(
            system=SYSTEM,
            user=user_message(criteria, problem, text),
            name="verdicts",
            schema=answer_schema(list(keys)),
            read=lambda answer: _findings(answer, keys, text.shown),
            seed=seed,
        )

    return await judge.ask(pose)


def _shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """Order by a hash: the same in every Python version, unlike random.shuffle."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\0{item.id}".encode()).hexdigest())


def _findings(answer: Any, keys: Mapping[str, str], shown: str) -> Findings:
    """Read the judge's JSON. Raises BadAnswer unless it is whole, and each yes is quoted."""
    if not isinstance(answer, Mapping) or set(answer) != set(keys):
        got = sorted(map(str, answer)) if isinstance(answer, Mapping) else type(answer).__name__
        raise BadAnswer("judge_wrong_items", got=got, expected=list(keys))
    findings = {}
    for key, item_id in keys.items():
        entry = answer[key]
        if not isinstance(entry, Mapping) or set(entry) != {"quote", "verdict"}:
            raise BadAnswer("judge_off_schema", item=item_id, got=str(entry)[:200])
        verdict, quote = entry["verdict"], entry["quote"]
        if verdict not in VERDICTS or not isinstance(quote, str):
            raise BadAnswer("judge_off_schema", item=item_id, got=str(entry)[:200])
        if verdict == "yes" and not is_quoted_from(quote, shown):
            raise BadAnswer("judge_invented_quote", item=item_id, quote=quote[:200])
        findings[item_id] = Finding(cast(Verdict, verdict), quote)
    return findings


def score(
    items: Sequence[Item], votes: Sequence[Findings], detail: Mapping[str, Any] | None = None
) -> Outcome:
    """Turn the judge's answers into an outcome: each item by majority, then the weighted share.

    Items that do not apply are left out, but a required one must be met. Without a majority an
    item is not met.
    """
    verdicts = {item.id: _majority([vote[item.id].verdict for vote in votes]) for item in items}
    shown = [
        {
            "id": item.id,
            "verdict": verdicts[item.id],
            "votes": [vote[item.id].verdict for vote in votes],
            "quotes": [vote[item.id].quote for vote in votes],
        }
        for item in items
    ]
    detail = {"items": shown, **(detail or {})}
    failed = [item.id for item in items if item.required and verdicts[item.id] != "yes"]
    if failed:
        detail["failed"] = failed
        return Outcome(status="ok", reason="required_failed", detail=detail, is_graded=True)
    counted = [item for item in items if verdicts[item.id] != "not_applicable"]
    if not counted:
        return error("nothing_applies", **detail)
    met = math.fsum(item.weight for item in counted if verdicts[item.id] == "yes")
    value = met / math.fsum(item.weight for item in counted)
    return Outcome(
        status="ok",
        correct=value == 1.0,
        value=value,
        reason="judged",
        detail=detail,
        is_graded=True,
    )


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    for verdict in ("yes", "not_applicable"):
        if verdicts.count(verdict) * 2 > len(verdicts):
            return verdict
    return "no"


def _digest(settings: JudgeSettings, items: Sequence[Item], problem: str, answer: str) -> str:
    parts = [asdict(settings), [asdict(item) for item in items], problem, answer]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _without_cost(outcome: Outcome) -> Outcome:
    """Return a cached outcome as one that cost nothing this time."""
    judge = outcome.detail["judge"]
    free = {"requests": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0, "cached": True}
    detail = {**outcome.detail, "judge": {"model": judge["model"], **free}}
    return Outcome(
        status="ok",
        correct=outcome.correct,
        value=outcome.value,
        reason=outcome.reason,
        detail=detail,
        is_graded=True,
    )
