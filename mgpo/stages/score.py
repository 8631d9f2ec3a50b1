"""`mgpo score`: grade given responses offline, exactly as training would."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from mgpo.config.errors import ConfigError, DataError, UserError
from mgpo.data.rows import problem_of
from mgpo.data.sources import Record, read_records
from rewards.config import RewardConfig
from rewards.offline import score_stream
from rewards.registry import resolve
from rewards.requests import check_request, reward_names
from rewards.self_test import SelfTestFailed
from rewards.types import Outcome, ScoreRequest

_OWN_FIELDS = ("id", "prompt", "domain", "reward", "reference", "response")


def run(reward: str, source: str, output: Path, num_processes: int, settings: Sequence[str]) -> str:
    """Write one row per row of `source`, in its order, and return a summary.

    A row has `response` and `reference`; `settings` are the reward's own options, `key=value`, for
    rows without that field. The output appears when it is whole. Raises UserError.
    """
    options = dict(map(_setting, settings))
    try:
        config = RewardConfig(processes_per_worker=num_processes, options={reward: options})
        resolve(reward)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    requests = [_request(record, reward, config) for record in read_records(source)]
    counts: Counter[str] = Counter()
    unfinished = output.with_name(f"{output.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            outcomes = score_stream(requests, [reward, *_parts(requests)], config)
            for request, outcome in zip(requests, outcomes, strict=True):
                counts[outcome.word] += 1
                file.write(json.dumps(_row(request.item_id, outcome)) + "\n")
    except SelfTestFailed as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"--output {output}: {error}") from error
    os.replace(unfinished, output)
    shown = ", ".join(f"{counts[word]} {word}" for word in ("correct", "wrong", "error"))
    return f"{len(requests)} responses by reward {reward}: {shown}"


def _parts(requests: Sequence[ScoreRequest]) -> set[str]:
    return {name for each in requests for name in reward_names(each.reward, each.reference)}


def _setting(text: str) -> tuple[str, Any]:
    key, is_given, value = text.partition("=")
    if not is_given or not key:
        raise ConfigError(f"--set takes key=value, got {text!r}")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError:
        return key, value


def _request(record: Record, reward: str, config: RewardConfig) -> ScoreRequest:
    values = record.values
    response = values.get("response")
    if not isinstance(response, str):
        raise DataError(f"{record.where}, field response: must be a string, got {response!r:.80}")
    if "reference" not in values:
        raise DataError(f"{record.where}, field reference: missing")
    fields = {name: value for name, value in values.items() if name not in _OWN_FIELDS}
    if "prompt" in values:
        prompt = values["prompt"]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        fields.setdefault("problem", problem_of(messages))
    request = ScoreRequest(
        reward=reward,
        response=response,
        reference=values["reference"],
        fields=fields,
        item_id=str(values.get("id", record.number)),
    )
    try:
        check_request(request, config)
    except ValueError as error:
        raise DataError(f"{record.where}, field reference: {error}") from error
    return request


def _row(item_id: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "id": item_id,
        "outcome": outcome.word,
        "value": outcome.value,
        "reason": outcome.reason,
        "detail": dict(outcome.detail),
        "time_s": outcome.time_s,
    }
