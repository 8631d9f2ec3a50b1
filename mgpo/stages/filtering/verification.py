"""Responses are graded by their rewards; wrong ones are dropped. Verdicts outlive a killed run."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mgpo.config.errors import UserError
from mgpo.config.filters import VerifyConfig
from mgpo.data.quality.types import Drop
from mgpo.data.row_store import RemainingRows
from mgpo.data.rows import Row, has_verifier, problem_of
from mgpo.data.sources import Record
from mgpo.stages.filtering.outcomes import Decisions, Untouched
from mgpo.tracking.files import strict_json, write_atomically
from mgpo.tracking.metrics import whole_lines
from rewards.record import RewardErrorRate
from rewards.self_test import SelfTestFailed
from rewards.service import RewardService, Ticket
from rewards.types import Outcome, ScoreRequest

_BATCH = 16
"""Responses that are graded, and written down, together."""
_MAX_OPEN_BATCHES = 64


def judge_responses(
    rows: RemainingRows, config: VerifyConfig, rewards: RewardService, path: Path
) -> Decisions:
    """Drop each row whose response is wrong, or has no verdict.

    Rows without a response or a verifier are left untouched. `path` keeps the verdicts; those that
    failed in an earlier launch are asked for again. Raises UserError when more than
    `config.max_error_share` of them are missing.
    """
    verdicts = _Verdicts(path)
    try:
        _grade_missing(rows, rewards, verdicts)
    finally:
        verdicts.close()
    _refuse_ungraded(verdicts, config, path)
    for number, record in rows.records():
        why = _why_unverifiable(record.values)
        if why is not None:
            yield number, Untouched(why)
        elif (verdict := verdicts[number]).word != "correct":
            reason = "wrong_response" if verdict.word == "wrong" else "no_verdict"
            yield number, Drop(reason, {"reason": verdict.reason, **verdict.detail})


def _why_unverifiable(values: Mapping[str, Any]) -> str | None:
    if values.get("response") is None:
        return "no_response"
    return None if has_verifier(values) else "no_verifier"


def _grade_missing(rows: RemainingRows, rewards: RewardService, verdicts: "_Verdicts") -> None:
    under_way: deque[tuple[list[int], Ticket]] = deque()
    for batch in _batches(rows, verdicts):
        requests = [_request(rows.task(record), record) for _, record in batch]
        under_way.append(([number for number, _ in batch], rewards.submit(requests)))
        if len(under_way) >= _MAX_OPEN_BATCHES:
            verdicts.add(*_collected(rewards, under_way))
    while under_way:
        verdicts.add(*_collected(rewards, under_way))


def _batches(rows: RemainingRows, verdicts: "_Verdicts") -> Iterator[list[tuple[int, Record]]]:
    batch: list[tuple[int, Record]] = []
    for number, record in rows.records():
        if number in verdicts or _why_unverifiable(record.values) is not None:
            continue
        batch.append((number, record))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _collected(
    rewards: RewardService, under_way: deque[tuple[list[int], Ticket]]
) -> tuple[list[int], list[Outcome]]:
    numbers, ticket = under_way.popleft()
    try:
        return numbers, rewards.collect(ticket)
    except (RewardErrorRate, SelfTestFailed) as error:
        raise UserError(str(error)) from error


def _request(row: Row, record: Record) -> ScoreRequest:
    return ScoreRequest(
        reward=row.reward,
        response=record.values["response"],
        reference=row.reference,
        fields={"problem": problem_of(row.messages), **row.fields},
        item_id=row.id,
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    word: str
    reason: str
    detail: Mapping[str, Any]


class _Verdicts:
    """By number of the row, in a JSON-lines file. Those of right responses hold no detail."""

    def __init__(self, path: Path) -> None:
        """Read what is there, but for gradings that failed."""
        entries = map(json.loads, whole_lines(path))
        kept = [entry for entry in entries if entry[1] != "error"]
        self._by_number = {number: _Verdict(*rest) for number, *rest in kept}
        write_atomically(path, "".join(json.dumps(entry) + "\n" for entry in kept))
        self._file: TextIO = path.open("a", encoding="ascii")

    def __contains__(self, number: int) -> bool:
        return number in self._by_number

    def __getitem__(self, number: int) -> _Verdict:
        return self._by_number[number]

    def __len__(self) -> int:
        return len(self._by_number)

    @property
    def num_errors(self) -> int:
        return sum(verdict.word == "error" for verdict in self._by_number.values())

    def add(self, numbers: list[int], outcomes: list[Outcome]) -> None:
        for number, outcome in zip(numbers, outcomes, strict=True):
            detail = {} if outcome.word == "correct" else strict_json(dict(outcome.detail))
            verdict = _Verdict(outcome.word, outcome.reason, detail)
            self._by_number[number] = verdict
            entry = [number, verdict.word, verdict.reason, verdict.detail]
            self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _refuse_ungraded(verdicts: _Verdicts, config: VerifyConfig, path: Path) -> None:
    if verdicts.num_errors > config.max_error_share * len(verdicts):
        raise UserError(
            f"{path}: {verdicts.num_errors} of {len(verdicts)} responses have no verdict, more "
            f"than filters.verify.max_error_share={config.max_error_share}; the lines with "
            '"error" say why. The same command grades them again'
        )
