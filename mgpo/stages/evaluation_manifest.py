"""What an evaluation was made from, so that others can repeat or check it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mgpo.config.errors import ConfigError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.data.benchmark import Benchmark, definition, problems_digest
from mgpo.data.rows import Row
from mgpo.tracking.provenance import file_sha256, read_launches
from mgpo.tracking.run_dir import RunPaths


def make_manifest(
    config: EvaluateConfig, benchmarks: Mapping[str, Any], run_dir: RunPaths
) -> dict[str, Any]:
    """Return the manifest; model files, versions and code are those of the run's last launch.

    `benchmarks` are the facts of each.
    """
    launch = read_launches(run_dir.provenance_path)[-1]
    return {
        "format": 1,
        "model": launch["inputs"].get("model", {"server": asdict(config.server)}),
        "dtype": config.dtype,
        "rollout": asdict(config.rollout),
        "seed": config.run.seed,
        "versions": launch["versions"],
        "code": launch["code"],
        "decontamination": _report(config.decontamination_report),
        "benchmarks": benchmarks,
    }


def benchmark_facts(benchmark: Benchmark, rows: Sequence[Row]) -> dict[str, Any]:
    """Return what a benchmark's samples follow from, and where its data came from."""
    config = benchmark.config
    return {
        "num_problems": len(rows),
        "problems_sha256": problems_digest(rows),
        "data_sha256": {
            source: file_sha256(Path(source)) if Path(source).is_file() else None
            for source in config.sources
        },
        "sampling": asdict(config.sampling),
        "definition": definition(benchmark),
    }


def task_rows(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yield problems as rows that `load_rows` reads back."""
    for row in rows:
        yield {
            **row.fields,
            "id": row.id,
            "prompt": [dict(message) for message in row.messages],
            "domain": row.domain,
            "reward": row.reward,
            "reference": row.reference,
        }


def check_report(path: str | None) -> None:
    """Raise ConfigError for a decontamination report that is not there."""
    if path is not None and not Path(path).is_file():
        raise ConfigError(f"decontamination_report: no such file: {path}")


def _report(path: str | None) -> dict[str, str] | None:
    if path is None:
        return None
    return {"path": path, "sha256": file_sha256(Path(path))}
