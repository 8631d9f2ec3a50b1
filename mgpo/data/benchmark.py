"""Benchmarks by name or file, and their problems as rows of ours."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.errors import ConfigError, DataError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.load import Layer, read_yaml, resolve_layers
from mgpo.data.benchmark_formats import FORMATS, Problem
from mgpo.data.rows import REWARD_OF_DOMAIN, Row, load_rows
from mgpo.data.sources import read_records

_HERE = Path(__file__).parent
BENCHMARKS_DIR = _HERE / "benchmarks"
TEMPLATES_DIR = _HERE / "templates"
_PLACE = "{prompt}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """A benchmark as one run has it."""

    name: str
    config: BenchmarkConfig
    template: str
    """Text around `{prompt}`."""


def built_in_names() -> list[str]:
    """Return the benchmarks that come along."""
    return sorted(path.stem for path in BENCHMARKS_DIR.glob("*.yaml"))


def load_benchmarks(config: EvaluateConfig) -> list[Benchmark]:
    """Return the benchmarks of a run with its changes. Raises ConfigError."""
    paths: dict[str, Path] = {}
    for given in config.benchmarks:
        path = _find(given)
        if path.stem in paths:
            raise ConfigError(f"benchmarks: {path.stem} is named twice")
        paths[path.stem] = path
    for name in config.changes.keys() - paths.keys():
        raise ConfigError(f"changes.{name}: benchmarks names only {', '.join(paths)}")
    return [_load(name, path, config) for name, path in paths.items()]


def load_problems(benchmark: Benchmark, max_prompts: int | None) -> list[Row]:
    """Return the problems of a benchmark as rows, templates applied. Raises DataError."""
    config = benchmark.config
    if not config.sources:
        raise DataError(
            f"benchmark {benchmark.name}: its problems have to be given: set "
            f"changes.{benchmark.name}.sources=[FILE.jsonl] (docs/evaluation.md says from where)"
        )
    rows = [
        _finished(row, benchmark)
        for source in config.sources
        for row in (_own_rows(source, config) if config.format == "rows" else _read(source, config))
    ][:max_prompts]
    if not rows:
        raise DataError(f"benchmark {benchmark.name}: {config.sources} hold no problem of it")
    places: dict[str, str] = {}
    for row in rows:
        if row.id in places:
            raise DataError(f"{row.where}, field id: {row.id!r} is also the id of {places[row.id]}")
        places[row.id] = row.where
    return rows


def problems_digest(rows: Sequence[Row]) -> str:
    """Return the SHA-256 of all that a verdict on these problems depends on."""
    digest = hashlib.sha256()
    for row in rows:
        facts = [row.id, list(row.messages), row.reward, row.reference, dict(row.fields)]
        digest.update(json.dumps(facts, sort_keys=True, default=str).encode() + b"\n")
    return digest.hexdigest()


def definition(benchmark: Benchmark) -> dict[str, Any]:
    """Return a benchmark as the manifest keeps it."""
    return {**asdict(benchmark.config), "template_text": benchmark.template}


def _find(given: str) -> Path:
    if given.endswith((".yaml", ".yml")):
        return Path(given)
    path = BENCHMARKS_DIR / f"{given}.yaml"
    if not path.is_file():
        raise ConfigError(
            f"benchmarks: unknown benchmark {given!r}; known are {', '.join(built_in_names())}, "
            "and files ending in .yaml"
        )
    return path


def _load(name: str, path: Path, run: EvaluateConfig) -> Benchmark:
    layers: list[Layer] = [read_yaml(path)]
    layers.append(("sampling", run.benchmark_values()))
    layers.append((f"changes.{name}", dict(run.changes.get(name, {}))))
    try:
        config = resolve_layers(layers, BenchmarkConfig, path)
    except ConfigError as error:
        raise ConfigError(f"benchmark {name}: {error}") from error
    if run.math_judge:
        config = replace(config, math_judge=True)
    return Benchmark(name=name, config=config, template=load_template(config.template, path.parent))


def load_template(name: str, folder: Path) -> str:
    """Return the text of a template in a folder, or of a built-in one. Raises ConfigError."""
    places = (folder / name, TEMPLATES_DIR / name)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        shown = " or ".join(map(str, places))
        raise ConfigError(f"template {name}: no such file: {shown}")
    text = path.read_text(encoding="utf-8").removesuffix("\n")
    if text.count(_PLACE) != 1:
        raise ConfigError(f"{path}: a template has {_PLACE} once, got {text.count(_PLACE)} times")
    return text


def _reward(config: BenchmarkConfig, own: str) -> str:
    reward = config.reward or own or REWARD_OF_DOMAIN.get(config.domain, "")
    return "math_judge" if config.math_judge and reward == "math" else reward


def _own_rows(source: str, config: BenchmarkConfig) -> Iterator[Row]:
    for row in load_rows(source, config):
        reference = row.reference
        if isinstance(reference, list) and row.reward == "math":  # OlympiadBench
            reference = ", ".join(str(part).strip().strip("$") for part in reference)
        yield replace(row, reference=reference)


def _read(source: str, config: BenchmarkConfig) -> Iterator[Row]:
    """Read a source in a layout of its own."""
    read = FORMATS[config.format]
    for record in read_records(source):
        try:
            problem = read(record.values)
        except KeyError as error:
            raise DataError(
                f"{record.where}: no column {error}, which format {config.format} needs; the row "
                f"has {', '.join(record.values)}"
            ) from error
        except (TypeError, AttributeError, ValueError, SyntaxError) as error:
            raise DataError(f"{record.where}: not of format {config.format}: {error}") from error
        if not _is_taken(problem, config, record.where):
            continue
        yield Row(
            id=problem.id,
            messages=({"role": "user", "content": problem.prompt},),
            domain=config.domain,
            reward="",
            reference=problem.reference,
            fields=problem.fields,
            where=record.where,
        )


def _is_taken(problem: Problem, config: BenchmarkConfig, where: str) -> bool:
    if (config.from_date or config.before_date) and not problem.date:
        raise DataError(f"{where}: has no date, which from_date and before_date ask for")
    if config.from_date and problem.date < config.from_date:
        return False
    if config.before_date and problem.date >= config.before_date:
        return False
    if problem.number is None:
        return True
    low = config.first_id if config.first_id is not None else problem.number
    high = config.last_id if config.last_id is not None else problem.number
    return low <= problem.number <= high


def _finished(row: Row, benchmark: Benchmark) -> Row:
    """Put the last message into the template, and add the benchmark's own fields."""
    config = benchmark.config
    last = {
        **row.messages[-1],
        "content": benchmark.template.replace(_PLACE, row.messages[-1]["content"]),
    }
    reference = row.reference
    if isinstance(reference, Mapping):
        reference = {**config.reference_fields, **reference}
    return replace(
        row,
        messages=(*row.messages[:-1], last),
        reward=_reward(config, row.reward),
        reference=reference,
        fields={**config.fields, **row.fields},
    )
