"""`mgpo distill`: sample several checkpoints, keep verified traces of the middle-to-high learning
potential, and write them as rows of supervised training."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing

from mgpo.algorithm.learning_potential import ScoredTrace, select_traces
from mgpo.config.distillation import DistillConfig
from mgpo.config.errors import DataError, UserError
from mgpo.data.domains import load_domains
from mgpo.data.inputs import check_rewards, every_reward
from mgpo.data.rows import Row
from mgpo.data.saved_models import check_model_folder
from mgpo.stages.distill_report import ADDED_FIELDS, Distilled, write_report
from mgpo.stages.sampler import encode_tasks, open_grading, sample_all
from mgpo.stages.student import read_student, score_traces
from mgpo.stages.traces import LostTrace, Trace, verify_traces
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.sample_store import SampleKey

SCORES = "scores/student.jsonl"
"""Beside the samples: who removes them removes their scores."""


def run(config: DistillConfig) -> str:
    """Sample, verify, score and select; return the summary. Raises UserError."""
    for domain, teacher in config.teachers.items():
        check_model_folder(f"teachers.{domain}", teacher)
    rows = load_domains(config.domains)
    every_row = [row for own in rows.values() for row in own]
    check_rewards(every_row, config.reward)
    _check_fields(every_row)
    student = read_student(config, every_row)
    tasks = {
        domain: encode_tasks(config, config.teachers[domain], own) for domain, own in rows.items()
    }
    with closing(RunDir.open(config)) as run_dir:
        traces: list[Trace] = []
        lost: list[LostTrace] = []
        with open_grading(config, every_reward(every_row)) as (cluster, rewards):
            for domain, task in tasks.items():
                path = run_dir.samples_dir / f"{domain}.jsonl"
                groups = sample_all(config, cluster, rewards, task, path, f"teacher {domain}")
                found = verify_traces(
                    domain, rows[domain], groups, student.encoder, student.context
                )
                traces += found[0]
                lost += found[1]
            scores = score_traces(config, cluster, student, traces, run_dir.samples_dir / SCORES)
        selection = select_traces(_scored(traces, scores), config.selection)
        distilled = Distilled(traces=traces, lost=lost, scores=scores, selection=selection)
        _refuse_empty(config, distilled)
        return write_report(run_dir.path, config, distilled)


def _check_fields(rows: Sequence[Row]) -> None:
    """Raise DataError for a row that has one of the fields we add, or cannot be written as JSON."""
    for row in rows:
        for name in ADDED_FIELDS:
            if name in row.fields:
                raise DataError(f"{row.where}, field {name}: is written by distill; rename it")
        try:
            json.dumps([row.reference, dict(row.fields)])
        except TypeError as error:  # dates and bytes of a parquet file
            raise DataError(f"{row.where}: cannot be written as JSON: {error}") from error


def _scored(traces: Sequence[Trace], scores: Mapping[SampleKey, float]) -> list[ScoredTrace]:
    return [
        ScoredTrace(
            key=trace.key,
            domain=trace.domain,
            num_tokens=trace.num_tokens,
            score=scores[trace.key],
        )
        for trace in traces
    ]


def _refuse_empty(config: DistillConfig, distilled: Distilled) -> None:
    """Raise UserError if nothing of a domain is left that should have a share."""
    left = {trace.domain for trace in distilled.kept}
    mix = config.selection.mix
    wanted = [domain for domain in config.domains if mix is None or mix[domain] > 0]
    # A domain that the mix alone emptied is not to blame: another has nothing for its share.
    for domain in sorted(wanted, key=lambda name: "mix" in distilled.drop_counts(name)):
        if domain not in left:
            reasons = distilled.drop_counts(domain)
            shown = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            raise UserError(
                f"domain {domain}: no trace is left ({shown}); sample more, or loosen selection "
                "(selection.min_tokens, selection.mix)"
            )
