"""`mgpo evaluate --verify DIR`: grade every stored sample again, and hold verdicts and figures
against those of the folder. Needs no model and no Ray."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.data import RowsConfig
from mgpo.config.errors import UserError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.load import load_config, resolve_layers
from mgpo.data.benchmark import Benchmark, load_problems, problems_digest
from mgpo.data.rows import Row, load_rows
from mgpo.stages.benchmark_results import summarize_benchmark
from mgpo.stages.scoring import TRUNCATED, score_request
from mgpo.tracking.result_files import ResultFiles, write_rows
from mgpo.tracking.sample_store import StoredSample, read_stored_samples
from rewards.config import RewardConfig
from rewards.offline import score_stream
from rewards.self_test import SelfTestFailed
from rewards.types import Outcome, ScoreRequest

_TOLERANCE = 1e-9


@dataclass(slots=True)
class _Verifier:
    """One folder, and what differed so far."""

    files: ResultFiles
    reward: RewardConfig
    differences: list[dict[str, Any]]
    num_graded: int = 0
    judged: list[str] = field(default_factory=list)
    """Benchmarks whose verdicts rest on a judge model, too."""

    def score(self, requests: Sequence[ScoreRequest]) -> list[Outcome]:
        """Grade in processes of this machine."""
        if not requests:
            return []
        return list(score_stream(requests, {each.reward for each in requests}, self.reward))


def run(folder: Path) -> str:
    """Return how many verdicts were repeated. Raises UserError if anything differs.

    verification.jsonl in the folder then names each difference. Of answers that a judge model
    decided, the rule's verdict is repeated, the judge's is not: those figures are worked out from
    the stored verdicts, and the benchmarks are named.
    """
    files = ResultFiles(folder)
    manifest, results = files.read_manifest()["benchmarks"], files.read_results()["benchmarks"]
    config = load_config(files.config_path, [], "evaluate")
    assert isinstance(config, EvaluateConfig)
    verifier = _Verifier(files, config.reward, [])
    try:
        for name in results:
            _verify(verifier, name, manifest[name], results[name])
    except SelfTestFailed as error:
        raise UserError(str(error)) from error
    report = files.path / "verification.jsonl"
    if verifier.differences:
        write_rows(report, verifier.differences)
        raise UserError(
            f"{folder}: {len(verifier.differences)} differences in {verifier.num_graded} verdicts "
            f"and the figures; {report} has each"
        )
    report.unlink(missing_ok=True)
    whole = f"{folder}: {verifier.num_graded} verdicts and all figures repeated, nothing differs"
    if not verifier.judged:
        return whole
    return (
        f"{whole}; of {', '.join(verifier.judged)} the rule's verdicts alone: those of the judge "
        "model were not repeated, and the figures follow from them as stored"
    )


def _verify(
    verifier: _Verifier,
    name: str,
    facts: dict[str, Any],
    figures: dict[str, Any],
) -> None:
    config = resolve_layers([("manifest.json", _declared(facts))], BenchmarkConfig, Path(name))
    rows = _rows(verifier.files, name, facts, config)
    stored = {sample.key: sample for sample in read_stored_samples(verifier.files.samples(name))}
    count = config.sampling.samples_per_prompt
    keys = [(row.id, index) for row in rows for index in range(count)]
    missing = [key for key in keys if key not in stored]
    if missing:
        raise UserError(
            f"{verifier.files.samples(name)}: lacks {len(missing)} of {len(keys)} samples, the "
            f"first being {missing[0]}"
        )
    samples = [stored[key] for key in keys]
    by_id = {row.id: row for row in rows}
    graded = _grade(verifier, name, [(by_id[sample.prompt_id], sample) for sample in samples])
    if any(row.reward == "math_judge" for row in rows):
        verifier.judged.append(name)
        graded = samples
    groups = [graded[first : first + count] for first in range(0, len(graded), count)]
    repeated = summarize_benchmark(config, rows, groups, verifier.score).figures
    verifier.differences += [
        {"benchmark": name, "figure": key, "was": figures.get(key), "is": value}
        for key, value in repeated.items()
        if not _same(figures.get(key), value)
    ]


def _declared(facts: dict[str, Any]) -> dict[Any, Any]:
    return {key: value for key, value in facts["definition"].items() if key != "template_text"}


def _rows(
    files: ResultFiles,
    name: str,
    facts: dict[str, Any],
    config: BenchmarkConfig,
) -> list[Row]:
    """Return the problems as they were asked. Raises UserError if they are others."""
    if config.keeps_text:
        rows = load_rows(str(files.tasks(name)), RowsConfig())
    else:
        template = facts["definition"]["template_text"]
        benchmark = Benchmark(name=name, config=config, template=template)
        rows = load_problems(benchmark, facts["num_problems"])
    if problems_digest(rows) != facts["problems_sha256"]:
        raise UserError(
            f"{files.path}: the problems of {name} are not those of manifest.json "
            f"(SHA-256 {problems_digest(rows)[:12]}, not {facts['problems_sha256'][:12]})"
        )
    return rows


def _grade(
    verifier: _Verifier, name: str, tasks: Sequence[tuple[Row, StoredSample]]
) -> list[StoredSample]:
    """Return the samples with new verdicts, and note those that differ."""
    whole = [(row, sample) for row, sample in tasks if not sample.is_truncated]
    requests = [_rule_request(row, sample) for row, sample in whole]
    names = {request.reward for request in requests}
    outcomes = score_stream(requests, names, verifier.reward) if requests else iter(())
    graded = []
    with closing(tqdm(total=len(tasks), desc=name, unit="verdict", disable=None)) as bar:
        for row, sample in tasks:
            outcome = TRUNCATED if sample.is_truncated else next(outcomes)
            was = _word(row, sample)
            if outcome.word != was:
                verifier.differences.append(
                    {
                        "benchmark": name,
                        "id": row.id,
                        "sample_index": sample.sample_index,
                        "was": was,
                        "is": outcome.word,
                        "reason": outcome.reason,
                    }
                )
            graded.append(sample.graded(outcome))
            bar.update()
    verifier.num_graded += len(tasks)
    return graded


def _rule_request(row: Row, sample: StoredSample) -> ScoreRequest:
    """Ask the row's reward, or the rule alone where a judge was asked, too."""
    request = score_request(row, sample.text)
    if request.reward != "math_judge":
        return request
    return ScoreRequest(
        reward="math",
        response=request.response,
        reference=request.reference,
        fields=request.fields,
        item_id=request.item_id,
    )


def _word(row: Row, sample: StoredSample) -> str:
    """Return the stored verdict, of the rule where a judge was asked, too."""
    rule = sample.outcome.detail.get("rule")
    return str(rule["verdict"]) if row.reward == "math_judge" and rule else sample.outcome.word


def _same(was: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return (
            isinstance(was, dict)
            and was.keys() == value.keys()
            and all(_same(was[key], value[key]) for key in value)
        )
    if isinstance(value, float) and isinstance(was, int | float):
        return abs(was - value) <= _TOLERANCE
    return bool(was == value)
