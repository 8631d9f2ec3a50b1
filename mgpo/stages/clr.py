"""`mgpo clr`: claim-level reliability on benchmarks, beside votes over the same trajectories.

What was cut goes on, call by call.
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from mgpo.config.clr import ClrConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.data.benchmark import Benchmark, load_benchmarks, load_problems
from mgpo.data.claim_prompts import ClaimTemplates
from mgpo.data.inputs import check_rewards
from mgpo.data.rows import Row
from mgpo.stages.claims.asking import Asker
from mgpo.stages.claims.checking import ClaimFiles, check_trajectories
from mgpo.stages.claims.choices import ProblemAnswers, check_answers_are_comparable, find_answers
from mgpo.stages.claims.results import summarize_claims
from mgpo.stages.claims.table import clr_table
from mgpo.stages.claims.trajectories import StoredTrajectories
from mgpo.stages.evaluation_manifest import (
    benchmark_facts,
    check_report,
    make_manifest,
    task_rows,
)
from mgpo.stages.evaluation_model import EvaluatedModel
from mgpo.stages.sampler import open_grading, sample_into
from mgpo.tracking.files import write_atomically
from mgpo.tracking.result_files import ResultFiles, write_rows
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.sample_store import StoredSample
from mgpo.tracking.wandb_results import send_results
from rewards.record import RewardErrorRate
from rewards.self_test import SelfTestFailed
from rewards.service import RewardService


@dataclass(frozen=True, kw_only=True, slots=True)
class ClrRun:
    """What the benchmarks of a run share."""

    config: ClrConfig
    templates: ClaimTemplates
    model: EvaluatedModel
    stored: StoredTrajectories | None
    """Where trajectories come from; None: they are sampled."""
    files: ResultFiles

    def trajectories(
        self, benchmark: Benchmark, rows: Sequence[Row], rewards: RewardService
    ) -> list[list[StoredSample]]:
        """Return the graded trajectories of each problem, those of all repeats."""
        if self.stored is not None:
            return self.stored.read(benchmark.name, rows, self.config)
        return sample_into(
            self.files.samples(benchmark.name),
            lambda: self.model.source(benchmark.name),
            benchmark.config.sampling,
            rewards,
            self.model.prompts(benchmark.name),
            benchmark.name,
        )

    def answers(self, benchmark: Benchmark, rewards: RewardService) -> list[ProblemAnswers]:
        """Return the answers to each problem, after asking what is not on disk.

        Raises UserError.
        """
        name, rows = benchmark.name, self.model.problems[benchmark.name]
        groups = self.trajectories(benchmark, rows, rewards)
        asker = Asker(
            render=lambda row: self.model.render(name, row),
            open_source=lambda: self.model.source(name),
        )
        paths = ClaimFiles(claims=self.files.claims(name), verdicts=self.files.verdicts(name))
        checked = check_trajectories(rows, groups, asker, self.templates, self.config, paths)
        try:
            answers = find_answers(rows, checked, rewards.score)
        except (RewardErrorRate, SelfTestFailed) as error:
            raise UserError(str(error)) from error
        num_failed = sum(each.num_ungraded for each in answers)
        limit = benchmark.config.sampling.max_error_share
        if num_failed > limit * sum(map(len, groups)):
            raise UserError(
                f"{name}: {num_failed} extracted answers have no verdict, more than "
                f"sampling.max_error_share={limit} of the trajectories; the same command grades "
                "them again"
            )
        write_rows(self.files.checked(name), (each.record() for group in checked for each in group))
        return answers


def run(config: ClrConfig) -> str:
    """Sample, extract, verify, write figures and rows, and return the table.

    Raises UserError with one line for what the user has to change.
    """
    templates = ClaimTemplates(config.templates_dir)
    benchmarks = load_benchmarks(config)
    problems = {each.name: load_problems(each, config.max_prompts) for each in benchmarks}
    every = [row for rows in problems.values() for row in rows]
    for each in benchmarks:
        _check_count(each, config)
        check_answers_are_comparable(each.name, problems[each.name])
    check_rewards(every, config.reward)
    check_report(config.decontamination_report)
    stored = None
    if config.from_samples is not None:
        stored = StoredTrajectories.open(config.from_samples)
        for each in benchmarks:
            stored.check(each.name, problems[each.name], config)
    files = ResultFiles(config.run.path)
    model = EvaluatedModel(config, benchmarks, problems)
    facts = {each.name: benchmark_facts(each, problems[each.name]) for each in benchmarks}
    files.refuse_other_samples(facts)
    this = ClrRun(config=config, templates=templates, model=model, stored=stored, files=files)
    # Answers are compared by the math reward, whatever grades them.
    reward_names = sorted({row.reward for row in every} | {"math"})
    with closing(RunDir.open(config)) as run_dir:
        files.write_manifest({**make_manifest(config, facts, run_dir), **_claim_facts(this)})
        for each in benchmarks:
            if each.config.keeps_text:
                write_rows(files.tasks(each.name), task_rows(problems[each.name]))
        stage = config.with_sampling(benchmarks[0].config.sampling)
        with open_grading(stage, reward_names) as (cluster, rewards), closing(model):
            model.use(cluster)
            results = {each.name: _measure(this, each, rewards) for each in benchmarks}
        record = {"model": config.model or config.server.model, "benchmarks": results}
        write_atomically(files.results_path, json.dumps(record, indent=1) + "\n")
        table = clr_table(record, files)
        write_atomically(files.summary_path, f"{table}\n")
        send_results(config, run_dir, results)
    return table


def _check_count(benchmark: Benchmark, config: ClrConfig) -> None:
    count = benchmark.config.sampling.samples_per_prompt
    if count != config.samples_per_prompt:
        raise ConfigError(
            f"changes.{benchmark.name}.sampling.samples_per_prompt is num_trajectories * "
            f"num_repeats = {config.samples_per_prompt} in `mgpo clr`, got {count}: leave it out"
        )


def _claim_facts(this: ClrRun) -> Mapping[str, Any]:
    """Return what the manifest says beyond that of an evaluation."""
    stored = this.stored
    source = None if stored is None else {"run": str(stored.files.path), **stored.manifest}
    return {"templates": dict(this.templates.texts), "from_samples": source}


def _measure(this: ClrRun, benchmark: Benchmark, rewards: RewardService) -> dict[str, Any]:
    """Return the figures of one benchmark, its rows written."""
    name, stored = benchmark.name, this.stored
    started = time.monotonic()
    try:
        answers = this.answers(benchmark, rewards)
    finally:
        seconds = this.files.add_seconds(name, time.monotonic() - started)
    result = summarize_claims(this.config, answers)
    write_rows(this.files.problems(name), result.problems)
    sets = this.config.num_repeats if stored is None else stored.num_sets(name, this.config)
    facts = this.model.sampling_facts(name) if stored is None else stored.sampling(name)
    return {
        "title": benchmark.config.title,
        "sampling": facts,
        **result.figures,
        "repeats_with_own_trajectories": sets,
        "seconds": seconds,
    }
