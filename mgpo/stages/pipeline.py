"""`mgpo pipeline`: the stages of a folder in order, each in a process of its own. What is done and
unchanged is skipped; what was cut goes on where it was."""

import json
import logging
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mgpo.config.errors import ConfigError
from mgpo.config.merge import MergeConfig
from mgpo.pipeline.launch import launch_stage, wait_until_free
from mgpo.pipeline.record import Records, StepRecord, describe_step, differences, finished_at
from mgpo.pipeline.steps import Step, find_step, load_steps, maker_of, pipeline_dir
from mgpo.tracking.lock import RunLock

logger = logging.getLogger(__name__)


def run(
    folder: Path,
    overrides: Sequence[str],
    *,
    first: str | None = None,
    last: str | None = None,
    redo: str | None = None,
) -> str:
    """Run the steps of `folder` from `first` to `last` (default: all) and return a table of them.

    A step that is done is skipped. One that is done and whose configuration or inputs changed since
    ends the pipeline, unless `redo` names it or a step that it follows from: then its folder is
    moved aside and it runs anew. A redo that was cut goes on in the next launch. Raises UserError,
    or StageFailed if a stage ended badly.
    """
    steps = load_steps(folder, overrides)
    start = 0 if first is None else find_step(steps, first, "--from")
    stop = len(steps) if last is None else 1 + find_step(steps, last, "--until")
    if start >= stop:
        raise ConfigError(f"--from {first} comes after --until {last}")
    records = Records(pipeline_dir(steps, folder))
    rows = []
    with closing(_Lock(records.folder)):
        if redo is not None:
            _begin_redo(steps, find_step(steps, redo, "--redo"), range(start, stop), records)
        for step in steps[start:stop]:
            record, was_done = _do(step, steps, records)
            rows.append((step.name, step.stage, _duration(record, was_done), _gist(record)))
        if stop == len(steps):
            records.set_pending([])
    return _table(rows)


def _begin_redo(steps: Sequence[Step], index: int, chosen: range, records: Records) -> None:
    """Move a step's results aside, so that it runs anew; one that is under way goes on."""
    step = steps[index]
    if index not in chosen:
        raise ConfigError(f"--redo {step.name} is not among the steps from --from to --until")
    if step.name in records.pending():
        logger.warning("%s: the redo that was cut goes on", step.name)
        return
    _start_anew(step, steps, records)


def _start_anew(step: Step, steps: Sequence[Step], records: Records) -> None:
    logger.info("%s: to be done again", step.name)
    wait_until_free(step)
    # Unfinished first: a kill while the folder is moved must not leave a finished record.
    records.write(step, describe_step(step, steps))
    records.set_pending([*records.pending(), step.name])
    _move_aside(step)


def _do(step: Step, steps: Sequence[Step], records: Records) -> tuple[StepRecord, bool]:
    """Run a step unless it is done; return its record, and whether it was done before."""
    old, new = records.read(step), describe_step(step, steps)
    changes = differences(old, new) if old is not None else []
    again = [each for each in steps if each.name in records.pending()]
    follows = any(maker_of(source, again) is not None for source in step.inputs.values())
    if old is not None and changes and follows and step not in again:
        _start_anew(step, steps, records)
    elif old is not None and old.finished_at is not None:
        missing = [str(path) for path in step.config.artifacts().values() if not path.exists()]
        if not changes and not missing:
            logger.info("%s: done", step.name)
            return old, True
        if changes:
            raise ConfigError(
                f"{step.path}: changed since it was run: {'; '.join(changes)}. Set it back, or "
                f"run the pipeline with --redo {step.name}, which does it and what follows from it "
                "again and keeps the old folders"
            )
        logger.warning("%s: %s is gone: to be done again", step.name, ", ".join(missing))
    elif old is not None and not changes and _is_published(step, old):
        return _finish(step, records, old, 0.0, "made before the pipeline was cut"), True
    records.write(step, new)
    started = time.monotonic()
    logger.info("%s: mgpo %s %s", step.name, step.stage, step.path)
    summary = launch_stage(step)
    return _finish(step, records, new, time.monotonic() - started, summary), False


def _finish(
    step: Step, records: Records, record: StepRecord, seconds: float, summary: str
) -> StepRecord:
    done = replace(record, finished_at=finished_at(), seconds=seconds, summary=summary)
    records.write(step, done)
    return done


def _is_published(step: Step, record: StepRecord) -> bool:
    """Whether a merge was cut after it had made its model and before that was recorded."""
    if not isinstance(step.config, MergeConfig):
        return False
    provenance = Path(step.config.output) / "provenance.json"
    if not provenance.is_file():
        return False
    parents = json.loads(provenance.read_text(encoding="utf-8"))["parents"]
    made_from = [(parent["sha256"], parent["weight"]) for parent in parents]
    hashes = [record.inputs.get(key, {}) for key in step.config.model_sources()]
    return made_from == list(zip(hashes, step.config.shares, strict=True))


def _move_aside(step: Step) -> None:
    """Keep what a step made under a name that nothing reads."""
    for place in step.places:
        if not place.exists():
            continue
        number = 1
        while (kept := place.with_name(f"{place.name}.old-{number}")).exists():
            number += 1
        shutil.move(place, kept)
        logger.warning("%s: kept as %s", place, kept)


class _Lock(RunLock):
    """One process per pipeline."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "pipeline.lock")

    def close(self) -> None:
        """Let the next process have it."""
        self.release()


def _duration(record: StepRecord, was_done: bool) -> str:
    return f"{record.seconds / 60:.1f} min{' (before)' if was_done else ''}"


def _gist(record: StepRecord) -> str:
    """Return the last line of what a stage printed, which says where its result is."""
    lines = record.summary.splitlines()
    return lines[-1] if lines else ""


def _table(rows: Sequence[tuple[str, str, str, str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(
            [*(f"{cell:<{width}}" for cell, width in zip(row[:3], widths, strict=True)), row[3]]
        )
        for row in rows
    )
