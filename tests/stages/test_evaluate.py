"""`mgpo evaluate` from end to end: what was killed comes out as if it had not been; results can be
checked and compared."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fakes
import pytest
from command_runs import environment
from fake_judge import FakeJudge, completion

from mgpo.config.errors import ConfigError, UserError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.load import load_config
from mgpo.stages import evaluate, evaluation_compare, evaluation_verify
from mgpo.tracking.result_files import ResultFiles

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1800)]

NUM_PROBLEMS, NUM_SAMPLES = 6, 4
KILLED_DRIVER = """
import os, signal, sys
from mgpo.__main__ import main
from mgpo.tracking.sample_store import SampleStore
add, num_added, limit = SampleStore.add, 0, int(sys.argv.pop())
def add_and_die(self, samples):
    global num_added
    add(self, samples)
    num_added += 1
    if num_added == limit:
        os.kill(os.getpid(), signal.SIGKILL)
SampleStore.add = add_and_die
sys.exit(main(sys.argv[1:]))
"""


def write_experiment(folder: Path) -> Path:
    fakes.make_model(folder / "model", seed=2, head_dim=8)
    rows = [{"id": f"r{i}", "prompt": f"say {i}", "reference": str(i)} for i in range(NUM_PROBLEMS)]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = f"sources: [{folder}/rows.jsonl]\n"
    (folder / "sums.yaml").write_text(f"title: Sums\n{source}template: boxed.txt\n")
    (folder / "lengths.yaml").write_text(
        f"title: Lengths\n{source}reward: fake_rewards.even_length\nkeeps_text: false\n"
    )
    experiment = folder / "evaluate.yaml"
    experiment.write_text(
        f"""
stage: evaluate
run: {{name: whole, dir: {folder}}}
model: {folder}/model
dtype: float32
benchmarks: [{folder}/lengths.yaml, {folder}/sums.yaml]
sampling: {{samples_per_prompt: {NUM_SAMPLES}, max_completion_tokens: 60}}
rollout: {{engine: hf, max_batch_samples: 4}}
reward: {{processes_per_worker: 1}}
tracking: {{wandb: disabled}}
"""
    )
    return experiment


def run(experiment: Path, *overrides: str, die_after: int | None = None) -> int:
    command = [sys.executable, "-m", "mgpo"]
    if die_after is not None:
        command = [sys.executable, "-c", KILLED_DRIVER]
    arguments = ["evaluate", str(experiment), *overrides]
    tail = [] if die_after is None else [str(die_after)]
    done = subprocess.run(
        [*command, *arguments, *tail],
        env=environment(),
        cwd=experiment.parent,
        capture_output=True,
        text=True,
        timeout=500,
    )
    (experiment.parent / "last.log").write_text(done.stdout + done.stderr)
    return done.returncode


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    experiment = write_experiment(tmp_path_factory.mktemp("evaluate"))
    assert run(experiment) == 0, (experiment.parent / "last.log").read_text()
    return experiment


@pytest.fixture
def result(experiment: Path, tmp_path: Path) -> Path:
    """A copy of the whole result, to be changed."""
    shutil.copytree(experiment.parent / "whole", tmp_path / "result")
    return tmp_path / "result"


def figures(folder: Path) -> dict[str, Any]:
    """All figures but times."""
    results = ResultFiles(folder).read_results()["benchmarks"]
    for each in results.values():
        assert each.pop("seconds") > 0
    return results


def texts(folder: Path, benchmark: str) -> dict[tuple[str, int], str]:
    lines = ResultFiles(folder).samples(benchmark).read_text().splitlines()
    samples = map(json.loads, lines)
    return {(each["prompt_id"], each["sample_index"]): each["text"] for each in samples}


def test_what_was_killed_comes_out_as_if_it_had_not_been(experiment: Path) -> None:
    whole = experiment.parent / "whole"
    # In the second benchmark, with the first one's verdicts on disk.
    assert run(experiment, "run.name=killed", die_after=25) == -signal.SIGKILL
    killed = experiment.parent / "killed"
    assert len(texts(killed, "sums")) < NUM_PROBLEMS * NUM_SAMPLES
    assert run(experiment, "run.name=killed") == 0
    assert figures(killed) == figures(whole)
    for benchmark in ("lengths", "sums"):
        assert texts(killed, benchmark) == texts(whole, benchmark)
        assert len(texts(whole, benchmark)) == NUM_PROBLEMS * NUM_SAMPLES
    assert 0 < figures(whole)["lengths"]["pass@1"]["mean"] < 1


def test_a_result_says_what_it_was_made_from(experiment: Path) -> None:
    files = ResultFiles(experiment.parent / "whole")
    manifest = files.read_manifest()
    assert len(manifest["model"]["sha256"]["model.safetensors"]) == 64
    facts = manifest["benchmarks"]["sums"]
    assert facts["sampling"]["samples_per_prompt"] == NUM_SAMPLES
    assert "boxed" in facts["definition"]["template_text"]
    assert len(facts["data_sha256"][str(experiment.parent / "rows.jsonl")]) == 64
    assert files.tasks("sums").is_file()
    assert not files.tasks("lengths").exists()  # keeps_text: false
    summary = files.summary_path.read_text()
    assert "temperature 1.0, top-p 0.95, top-k off, at most 60 tokens, seed 0" in summary


def test_other_problems_or_sampling_cannot_continue_a_result(experiment: Path) -> None:
    for override in (
        "changes.sums.template=plain.txt",
        "sampling.temperature=0.5",
        "max_prompts=3",
    ):
        assert run(experiment, override) == 2
        assert "cannot be continued" in (experiment.parent / "last.log").read_text()


def test_a_result_is_verified_by_grading_it_again(result: Path) -> None:
    assert "48 verdicts and all figures repeated" in evaluation_verify.run(result)


def change_first_sample(result: Path, benchmark: str, change: Any) -> None:
    path = ResultFiles(result).samples(benchmark)
    first, *others = path.read_text().splitlines(keepends=True)
    sample = json.loads(first)
    change(sample)
    path.write_text(json.dumps(sample) + "\n" + "".join(others))


def test_a_verdict_that_was_changed_is_found(result: Path) -> None:
    def flip(sample: dict[str, Any]) -> None:
        sample["finish_reason"] = "stop"
        sample["outcome"] |= {"status": "ok", "correct": True, "value": 1.0}

    change_first_sample(result, "sums", flip)
    with pytest.raises(UserError, match="differences in 48 verdicts"):
        evaluation_verify.run(result)
    differences = map(json.loads, (result / "verification.jsonl").read_text().splitlines())
    [verdict] = [each for each in differences if "id" in each]
    assert (verdict["was"], verdict["is"]) == ("correct", "wrong")


def test_figures_that_do_not_follow_from_the_samples_are_found(result: Path) -> None:
    path = ResultFiles(result).results_path
    record = json.loads(path.read_text())
    record["benchmarks"]["lengths"]["pass@1"]["mean"] += 0.01
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match="1 differences"):
        evaluation_verify.run(result)


def test_problems_that_were_changed_are_found(result: Path) -> None:
    path = ResultFiles(result).tasks("sums")
    path.write_text(path.read_text().replace("say 3", "say 4"))
    with pytest.raises(UserError, match=r"the problems of sums are not those of manifest\.json"):
        evaluation_verify.run(result)


def test_results_are_compared_problem_by_problem(experiment: Path, result: Path) -> None:
    whole = experiment.parent / "whole"
    path = ResultFiles(result).problems("lengths")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "accuracy": 1.0}) + "\n" for row in rows))
    table = evaluation_compare.run(whole, result)
    gain = 100 * (1 - figures(whole)["lengths"]["pass@1"]["mean"])
    assert f"{gain:+.1f} (" in table
    assert "+0.0 (-50.0 to +50.0)" in table  # sums: 6 problems, none differs
    with pytest.raises(UserError, match="is no finished evaluation: it has no results"):
        evaluation_compare.run(whole, result / "samples")


@pytest.mark.usefixtures("ray_cluster")
def test_a_server_gives_results_of_the_same_form(experiment: Path, tmp_path: Path) -> None:
    def reply(body: dict[str, Any], number: int) -> Any:
        asked = body["messages"][0]["content"].split("\n")[0].removeprefix("say ")
        return completion(rf"\boxed{{{asked}}}")

    with FakeJudge(reply) as server:
        overrides = [
            "model=''",
            f"server.endpoint={server.endpoint}",
            "server.model=m",
            f"run.dir={tmp_path}",
            "run.name=served",
            f"benchmarks=[{experiment.parent}/sums.yaml]",
        ]
        config = load_config(experiment, overrides, "evaluate")
        assert isinstance(config, EvaluateConfig)
        assert "100.0 (" in evaluate.run(config)
        assert len(server.bodies) == NUM_PROBLEMS * NUM_SAMPLES
        assert evaluate.run(config)  # all is there: nothing is asked again
        assert len(server.bodies) == NUM_PROBLEMS * NUM_SAMPLES
    got = figures(tmp_path / "served")["sums"]
    assert (got["pass@1"]["mean"], got["maj@4"]["mean"], got["tokens_per_sample"]) == (1.0, 1.0, 10)
    assert "verdicts and all figures repeated" in evaluation_verify.run(tmp_path / "served")


def test_a_decontamination_report_must_be_there(experiment: Path) -> None:
    overrides = ["decontamination_report=nowhere.jsonl", "run.name=no_report"]
    config = load_config(experiment, overrides, "evaluate")
    assert isinstance(config, EvaluateConfig)
    with pytest.raises(ConfigError, match=r"no such file: nowhere\.jsonl"):
        evaluate.run(config)
