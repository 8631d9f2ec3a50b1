"""`mgpo evaluate`: a model on benchmarks. What was cut goes on, sample by sample."""

import json
import time
from contextlib import closing
from dataclasses import replace

from mgpo.config.evaluate import EvaluateConfig
from mgpo.data.benchmark import Benchmark, load_benchmarks, load_problems
from mgpo.data.inputs import check_rewards, every_reward
from mgpo.stages.benchmark_results import BenchmarkResult, disagreements, summarize_benchmark
from mgpo.stages.evaluation_grading import with_time_for_programs
from mgpo.stages.evaluation_manifest import (
    benchmark_facts,
    check_report,
    make_manifest,
    task_rows,
)
from mgpo.stages.evaluation_model import EvaluatedModel
from mgpo.stages.evaluation_table import evaluation_table
from mgpo.stages.sampler import open_grading, sample_into
from mgpo.tracking.files import write_atomically
from mgpo.tracking.result_files import ResultFiles, write_rows
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.wandb_results import send_results
from rewards.service import RewardService


def run(config: EvaluateConfig) -> str:
    """Sample and grade every benchmark, write figures and rows, and return the table.

    Raises UserError with one line for what the user has to change.
    """
    benchmarks = load_benchmarks(config)
    problems = {each.name: load_problems(each, config.max_prompts) for each in benchmarks}
    every = [row for rows in problems.values() for row in rows]
    config = replace(config, reward=with_time_for_programs(config.reward, every))
    check_rewards(every, config.reward)
    check_report(config.decontamination_report)
    model = EvaluatedModel(config, benchmarks, problems)
    facts = {each.name: benchmark_facts(each, problems[each.name]) for each in benchmarks}
    files = ResultFiles(config.run.path)
    files.refuse_other_samples(facts)
    # Answers are compared by the math reward, whatever graded them.
    reward_names = sorted({*every_reward(every), "math"})
    with closing(RunDir.open(config)) as run_dir:
        files.write_manifest(make_manifest(config, facts, run_dir))
        for each in benchmarks:
            if each.config.keeps_text:
                write_rows(files.tasks(each.name), task_rows(problems[each.name]))
        stage = config.with_sampling(benchmarks[0].config.sampling)
        with open_grading(stage, reward_names) as (cluster, rewards), closing(model):
            model.use(cluster)
            results = {each.name: _evaluate(each, model, rewards, files) for each in benchmarks}
        record = {"model": config.model or config.server.model, "benchmarks": results}
        write_atomically(files.results_path, json.dumps(record, indent=1) + "\n")
        table = evaluation_table(record, files)
        write_atomically(files.summary_path, f"{table}\n")
        send_results(config, run_dir, results)
    return table


def _evaluate(
    benchmark: Benchmark, model: EvaluatedModel, rewards: RewardService, files: ResultFiles
) -> dict[str, object]:
    """Return the figures of one benchmark, its rows written."""
    started = time.monotonic()
    rows, sampling = model.problems[benchmark.name], benchmark.config.sampling
    try:
        groups = sample_into(
            files.samples(benchmark.name),
            lambda: model.source(benchmark.name),
            sampling,
            rewards,
            model.prompts(benchmark.name),
            benchmark.name,
        )
    finally:
        seconds = files.add_seconds(benchmark.name, time.monotonic() - started)
    result: BenchmarkResult = summarize_benchmark(
        benchmark.config, rows, groups, rewards.score_aside
    )
    write_rows(files.problems(benchmark.name), result.problems)
    if differing := disagreements(rows, groups):
        write_rows(files.disagreements(benchmark.name), differing)
    return {
        "title": benchmark.config.title,
        "sampling": model.sampling_facts(benchmark.name),
        **result.figures,
        "seconds": seconds,
    }
