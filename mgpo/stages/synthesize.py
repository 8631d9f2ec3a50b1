"""`mgpo synthesize`: new queries from seeds, judged, answered several times, labelled by vote.

Every answer of a model is on disk when it comes, under a hash of what was asked; the rest is a
function of the answers.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mgpo.config.errors import UserError
from mgpo.config.synthesize import SynthesizeConfig
from mgpo.data.model_files import is_hub_name
from mgpo.data.synthesis_prompts import Templates
from mgpo.stages.interruption import Interruption
from mgpo.stages.synthesis.asking import Models
from mgpo.stages.synthesis.call_store import CallStore
from mgpo.stages.synthesis.labels import Labelled, label
from mgpo.stages.synthesis.queries import (
    Query,
    Rejected,
    judge_calls,
    load_seeds,
    plan_writing,
    read_queries,
    read_verdicts,
    teacher_calls,
)
from mgpo.tracking.files import write_atomically
from mgpo.tracking.run_dir import RunDir


def run(config: SynthesizeConfig) -> str:
    """Make the calls that are missing, write the rows, return a summary. Raises UserError."""
    if config.model is not None:
        is_hub_name(config.model)
    templates = Templates([*config.expansion.axes, "judge", "teacher"], config.templates_dir)
    seeds = load_seeds(config)
    writings = plan_writing(config, templates, seeds)
    with ExitStack() as stack:
        run_dir = stack.enter_context(closing(RunDir.open(config)))
        stack.enter_context(Interruption())
        store = stack.enter_context(closing(CallStore(run_dir.samples_dir / "calls.jsonl")))
        models = Models(config, store, stack)
        models.ask_all([writing.call for writing in writings], config.expansion)
        written = list(read_queries(writings, seeds, store))
        approved = _judge(config, templates, models, store, written)
        labelled = _teach(config, templates, models, store, approved)
        return _publish(run_dir, len(seeds), (written, approved, labelled), store)


def _judge(
    config: SynthesizeConfig,
    templates: Templates,
    models: Models,
    store: CallStore,
    written: Sequence[Query | Rejected],
) -> list[Query | Rejected]:
    queries = [query for query in written if isinstance(query, Query)]
    calls = [judge_calls(config, templates, query) for query in queries]
    models.ask_all([call for each in calls for call in each], config.judging)
    return [read_verdicts(query, each, store) for query, each in zip(queries, calls, strict=True)]


def _teach(
    config: SynthesizeConfig,
    templates: Templates,
    models: Models,
    store: CallStore,
    approved: Sequence[Query | Rejected],
) -> list[Labelled | Rejected]:
    queries = [query for query in approved if isinstance(query, Query)]
    calls = [teacher_calls(config, templates, query) for query in queries]
    models.ask_all([call for each in calls for call in each], config.teaching)
    answers = [[store.find(call) for call in each] for each in calls]
    provenance = {
        "judge": config.model_of(config.judging),
        "judge_template_sha256": templates.sha256("judge"),
        "teacher": config.model_of(config.teaching),
        "teacher_template_sha256": templates.sha256("teacher"),
    }
    return label(queries, answers, provenance, config.teaching, config.reward)


def _publish(
    run_dir: RunDir,
    num_seeds: int,
    steps: tuple[
        Sequence[Query | Rejected], Sequence[Query | Rejected], Sequence[Labelled | Rejected]
    ],
    store: CallStore,
) -> str:
    """Write rows.jsonl, prompts.jsonl, dropped.jsonl and report.json; return a summary."""
    written, approved, labelled = steps
    kept = [each for each in labelled if isinstance(each, Labelled)]
    rejected = [each for step in steps for each in step if isinstance(each, Rejected)]
    rows = [row for each in kept for row in each.worked_rows()]
    report = {
        "seeds": num_seeds,
        "queries": len(written),
        "written": sum(isinstance(each, Query) for each in written),
        "approved": sum(isinstance(each, Query) for each in approved),
        "labelled": len(kept),
        "rows": len(rows),
        "dropped": dict(sorted(Counter(each.reason for each in rejected).items())),
        "models": store.spent(),
        "cost": store.cost,
    }
    folder = run_dir.path
    write_atomically(folder / "rows.jsonl", _lines(rows))
    write_atomically(folder / "prompts.jsonl", _lines([each.prompt_row() for each in kept]))
    write_atomically(folder / "dropped.jsonl", _lines([asdict(each) for each in rejected]))
    write_atomically(folder / "report.json", json.dumps(report, indent=1) + "\n")
    if not rows:
        raise UserError(f"no query got a label: {_reasons(report)}; see {folder / 'dropped.jsonl'}")
    return _summary(report, folder)


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _summary(report: Mapping[str, Any], folder: Path) -> str:
    steps = [f"{report[name]} {name}" for name in ("seeds", "queries", "written", "approved")]
    lines = [
        " -> ".join([*steps, f"{report['labelled']} labelled by vote, {report['rows']} rows"]),
        f"dropped: {_reasons(report) or 'none'}",
    ]
    for model, spent in report["models"].items():
        lines.append(
            f"{model}: {spent['calls']:.0f} calls, {spent['prompt_tokens']:,.0f} prompt and "
            f"{spent['completion_tokens']:,.0f} completion tokens, cost {spent['cost']:.4f}"
        )
    return "\n".join([*lines, f"rows {folder}/rows.jsonl   prompts {folder}/prompts.jsonl"])


def _reasons(report: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in report["dropped"].items())
