"""How often a model solves each prompt: sampled, graded, and written into the prompt's rows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from mgpo.cluster import Cluster
from mgpo.config.errors import UserError
from mgpo.config.filters import AccuracyConfig, FilterConfig
from mgpo.data.quality.accuracy import AllOrNone
from mgpo.data.quality.types import Drop
from mgpo.data.row_store import RemainingRows
from mgpo.data.rows import Row, has_verifier
from mgpo.stages.filtering.outcomes import Added, Decision, Decisions, Untouched
from mgpo.stages.sampler import encode_tasks, sample_all
from mgpo.tracking.sample_store import StoredSample
from rewards.service import RewardService


def judge_prompts(
    rows: RemainingRows,
    config: FilterConfig,
    accuracy: AccuracyConfig,
    grading: tuple[Cluster, RewardService],
    path: Path,
) -> Decisions:
    """Write `accuracy`, `accuracy_n` and `accuracy_model` into each row whose reward can tell.

    Rows with the same task, such as several traces of a query, are sampled once. `path` keeps the
    samples. A prompt none of whose samples has a verdict is dropped: accuracy_unknown. Raises
    UserError.
    """
    tasks = _distinct_tasks(rows)
    measured: Mapping[bytes, Sequence[StoredSample]] = {}
    if tasks:
        stage = config.sampling_stage(accuracy)
        encoded = encode_tasks(stage, accuracy.model, list(tasks.values()))
        samples = sample_all(stage, *grading, encoded, path, "accuracy")
        measured = dict(zip(tasks, samples, strict=True))
    for number, record in rows.records():
        if not has_verifier(record.values):
            yield number, Untouched("no_verifier")
            continue
        samples_of_row = measured[_task_key(record.values)]
        yield number, _decide(record.values["id"], samples_of_row, accuracy)


def _distinct_tasks(rows: RemainingRows) -> dict[bytes, Row]:
    """Return the first row of each task that has a verifier."""
    tasks: dict[bytes, Row] = {}
    for _, record in rows.records():
        if has_verifier(record.values):
            key = _task_key(record.values)
            if key not in tasks:
                tasks[key] = rows.task(record)
    return tasks


def _task_key(values: Mapping[str, Any]) -> bytes:
    task = [values.get(name) for name in ("prompt", "reference", "reward", "domain")]
    return hashlib.blake2b(json.dumps(task, default=str).encode(), digest_size=16).digest()


def _decide(row_id: str, samples: Sequence[StoredSample], config: AccuracyConfig) -> Decision:
    valid = [sample for sample in samples if sample.is_valid]
    if not valid:
        return Drop("accuracy_unknown", {"samples": len(samples)})
    fields = {
        "accuracy": _accuracy(row_id, valid),
        "accuracy_n": len(valid),
        "accuracy_model": config.model,
    }
    drop = AllOrNone().judge({"id": row_id, **fields}) if config.drop_all_or_none else None
    return drop or Added(fields)


def _accuracy(row_id: str, valid: Sequence[StoredSample]) -> float:
    """Return the share of correct samples, or the mean value of graded ones, as p(q) is counted.

    Raises UserError if a reward mixes the two.
    """
    graded = {sample.outcome.is_graded for sample in valid if not sample.is_truncated}
    if len(graded) > 1:
        raise UserError(
            f"row {row_id}: its reward returned both verdicts and numbers; a reward must return "
            "one kind"
        )
    if graded == {True}:
        return fmean(0.0 if sample.is_truncated else sample.outcome.value for sample in valid)
    return fmean(float(sample.is_correct) for sample in valid)
