"""`mgpo decontaminate`: drop training rows that share an n-gram with an evaluation set."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from mgpo.config.errors import ConfigError, DataError, UserError
from mgpo.data.compared_texts import evaluation_rows, overlap_facts, training_texts
from mgpo.data.decontamination import EvaluationIndex, Overlap, find_overlaps
from mgpo.data.sources import Record, read_records, row_line


@dataclass(kw_only=True, slots=True)
class _Counts:
    """What the summary says."""

    read: int = 0
    dropped: int = 0
    overlaps: Counter[str] = field(default_factory=Counter)
    """Training rows by evaluation set; a row may overlap with several."""
    ngrams: Counter[str] = field(default_factory=Counter)


def run(
    train: Sequence[str],
    against: Sequence[str],
    output: Path,
    report: Path,
    fields: Sequence[str],
    *,
    ngram: int,
) -> str:
    """Write the rows of `train` that share no n-gram with `against`, and a report of the others.

    Kept rows stay in order, and byte for byte where they come from a JSONL file. `fields` names
    the text of the evaluation sets; empty for the usual names. Both files appear when they are
    whole, the output last. Returns a summary. Raises UserError.
    """
    _check_arguments([*train, *against], output, report, ngram)
    counts = _Counts()
    unfinished = {path: path.with_name(f"{path.name}.unfinished") for path in (report, output)}
    try:
        index = EvaluationIndex(evaluation_rows(against, fields), ngram)
        with unfinished[output].open("wb") as kept, unfinished[report].open("wb") as drops:
            _sift(train, index, kept, drops, counts)
        for path, written in unfinished.items():
            os.replace(written, path)
    except OSError as error:
        raise UserError(str(error)) from error
    finally:
        for path in unfinished.values():
            path.unlink(missing_ok=True)
    return _summary(counts, index, output, report)


def _check_arguments(sources: Sequence[str], output: Path, report: Path, ngram: int) -> None:
    if ngram < 1:
        raise ConfigError(f"--ngram must be at least 1, got {ngram}; the usual value is 10")
    if output.suffix != ".jsonl":
        raise ConfigError(f"--output {output}: must end in .jsonl, which is what is written")
    inputs = {Path(source).resolve() for source in sources}
    for option, path in (("--output", output), ("--report", report)):
        if path.resolve() in inputs:
            raise ConfigError(f"{option} {path}: is also an input; name another file")
        if path.is_dir() or not path.parent.is_dir():
            raise ConfigError(f"{option} {path}: must be a file in a folder that exists")
    if output.resolve() == report.resolve():
        raise ConfigError(f"--report {report}: is also the output; name another file")


def _sift(
    train: Sequence[str],
    index: EvaluationIndex,
    kept: IO[bytes],
    drops: IO[bytes],
    counts: _Counts,
) -> None:
    for source in train:
        before = counts.read
        rows = ((record, training_texts(record)) for record in read_records(source))
        for record, overlaps in find_overlaps(index, rows):
            counts.read += 1
            if not overlaps:
                kept.write(row_line(record))
                continue
            counts.dropped += 1
            counts.overlaps.update(each.evaluation_row.set_name for each in overlaps)
            counts.ngrams.update({each.ngram for each in overlaps})
            drops.write(_drop_line(source, record, overlaps))
        if counts.read == before:
            raise DataError(f"{source}: has no rows")


def _drop_line(source: str, record: Record, overlaps: Sequence[Overlap]) -> bytes:
    drop = {
        "source": source,
        "row": record.number,
        "id": record.values.get("id"),
        "overlaps": overlap_facts(overlaps),
    }
    return json.dumps(drop, default=str).encode() + b"\n"


def _summary(counts: _Counts, index: EvaluationIndex, output: Path, report: Path) -> str:
    lines = [
        f"{counts.read} rows read, {counts.dropped} dropped (each is in {report}), "
        f"{counts.read - counts.dropped} kept in {output}"
    ]
    for name, num_rows in index.num_rows.items():
        short = index.num_unfindable[name]
        note = f" ({short} too short to be found)" if short else ""
        lines.append(f"{name}: {num_rows} rows{note}, found in {counts.overlaps[name]} rows")
    for ngram, num_rows in counts.ngrams.most_common(1):
        lines.append(f"most frequent: {ngram!r:.200}, in {num_rows} dropped rows")
    return "\n".join(lines)
