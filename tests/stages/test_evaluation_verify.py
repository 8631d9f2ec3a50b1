"""Verifying a result whose verdicts rest on a judge model."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.errors import UserError
from mgpo.config.sampling import SamplingConfig
from mgpo.data.benchmark import Benchmark, definition, problems_digest
from mgpo.data.rows import Row
from mgpo.stages import evaluation_verify
from mgpo.stages.benchmark_results import summarize_benchmark
from mgpo.stages.evaluation_manifest import task_rows
from mgpo.tracking.result_files import ResultFiles, write_rows
from mgpo.tracking.sample_store import SampleStore, StoredSample
from rewards import math_answer
from rewards.types import Outcome

ROW = Row(
    id="a",
    messages=({"role": "user", "content": "?"},),
    domain="math",
    reward="math_judge",
    reference="2",
    fields={},
    where="a",
)


def judged(index: int, text: str, rule: str, judge: str) -> StoredSample:
    is_right = judge == "yes"
    detail = {
        "extracted": text,
        "rule": {"verdict": rule},
        "judge": {"verdict": judge},
        "disagree": (rule == "correct") != is_right,
    }
    return StoredSample(
        prompt_id="a",
        sample_index=index,
        text=rf"\boxed{{{text}}}",
        num_tokens=3,
        finish_reason="stop",
        mean_logprob=None,
        outcome=Outcome(status="ok", correct=is_right, detail=detail),
    )


@pytest.fixture
def result(tmp_path: Path) -> ResultFiles:
    config = BenchmarkConfig(
        title="Sums", sources=["x"], sampling=SamplingConfig(samples_per_prompt=2)
    )
    samples = [judged(0, "2", "correct", "yes"), judged(1, "7", "wrong", "yes")]
    files = ResultFiles(tmp_path)
    write_rows(files.tasks("sums"), task_rows([ROW]))
    files.samples("sums").parent.mkdir()
    store = SampleStore(files.samples("sums"))
    store.add(samples)
    store.close()
    facts: dict[str, Any] = {
        "num_problems": 1,
        "problems_sha256": problems_digest([ROW]),
        "sampling": asdict(config.sampling),
        "definition": definition(Benchmark(name="sums", config=config, template="{prompt}")),
    }
    files.write_manifest({"benchmarks": {"sums": facts}})
    figures = summarize_benchmark(
        config,
        [ROW],
        [samples],
        lambda requests: [math_answer.grade(each.response, each.reference) for each in requests],
    ).figures
    files.results_path.write_text(json.dumps({"benchmarks": {"sums": figures}}))
    files.config_path.write_text(
        f"stage: evaluate\nrun: {{name: r, dir: {tmp_path}}}\nmodel: m\nbenchmarks: [aime24]\n"
        "reward: {processes_per_worker: 1}\n"
    )
    return files


def test_a_judged_benchmark_is_named_and_its_figures_follow_from_stored_verdicts(
    result: ResultFiles,
) -> None:
    said = evaluation_verify.run(result.path)
    assert "2 verdicts and all figures repeated" in said
    assert "of sums the rule's verdicts alone" in said


def test_a_judged_figure_that_was_changed_is_found(result: ResultFiles) -> None:
    record = json.loads(result.results_path.read_text())
    record["benchmarks"]["sums"]["pass@1"]["mean"] = 0.5
    result.results_path.write_text(json.dumps(record))
    with pytest.raises(UserError, match="1 differences"):
        evaluation_verify.run(result.path)
