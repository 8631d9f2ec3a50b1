"""The folder of an evaluation: what was asked, every sample, every problem, the figures."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mgpo.config.errors import ConfigError, UserError
from mgpo.tracking.files import strict_json, write_atomically
from mgpo.tracking.metrics import whole_lines

_WHAT_SAMPLES_FOLLOW_FROM = ("problems_sha256", "sampling")


class ResultFiles:
    """Where things lie below a run's folder; enough to read one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        """Hashes of model, data and problems, sampling, versions."""
        self.results_path = path / "results.json"
        """Only there when every benchmark is done."""
        self.summary_path = path / "summary.txt"
        self.config_path = path / "config.yaml"
        self._seconds_path = path / "seconds.json"

    def samples(self, benchmark: str) -> Path:
        """Every sample with its verdict, as SampleStore writes them."""
        return self.path / "samples" / f"{benchmark}.jsonl"

    def claims(self, benchmark: str) -> Path:
        """`mgpo clr`: what the model extracted from each trajectory, as SampleStore writes it."""
        return self.path / "samples" / f"{benchmark}.claims.jsonl"

    def verdicts(self, benchmark: str) -> Path:
        """`mgpo clr`: what the model said of each claim, as SampleStore writes it."""
        return self.path / "samples" / f"{benchmark}.verdicts.jsonl"

    def checked(self, benchmark: str) -> Path:
        """`mgpo clr`: a row per trajectory: answer, claims, verdicts, reliability."""
        return self.path / "checked" / f"{benchmark}.jsonl"

    def tasks(self, benchmark: str) -> Path:
        """The problems as they were asked, rows as docs/data.md has them."""
        return self.path / "tasks" / f"{benchmark}.jsonl"

    def problems(self, benchmark: str) -> Path:
        """A row per problem: verdicts, Pass@K, majority, tokens."""
        return self.path / "problems" / f"{benchmark}.jsonl"

    def disagreements(self, benchmark: str) -> Path:
        """Samples on which rule and judge disagree."""
        return self.path / "disagreements" / f"{benchmark}.jsonl"

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Say what will be sampled. Figures of an earlier launch go: they are of its manifest."""
        self.results_path.unlink(missing_ok=True)
        write_atomically(self.manifest_path, json.dumps(manifest, indent=1) + "\n")

    def refuse_other_samples(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise ConfigError if there are samples of a benchmark with other problems or sampling.

        `facts` are those of the manifest, by benchmark.
        """
        if not self.manifest_path.is_file():
            return
        earlier = self.read_manifest()["benchmarks"]
        for name in facts.keys() & earlier.keys():
            if self.samples(name).is_file():
                self._refuse_other_samples(name, earlier[name], facts[name])

    def _refuse_other_samples(
        self, name: str, earlier: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> None:
        for key in _WHAT_SAMPLES_FOLLOW_FROM:
            if earlier[key] != facts[key]:
                raise ConfigError(
                    f"{self.path} cannot be continued: {key} of benchmark {name} was "
                    f"{earlier[key]} and is {facts[key]}; set data, template, reward and sampling "
                    "back, or choose another run.name"
                )

    def read_manifest(self) -> dict[str, Any]:
        """Return the manifest. Raises UserError."""
        return self._read(self.manifest_path)

    def read_results(self) -> dict[str, Any]:
        """Return the figures. Raises UserError."""
        return self._read(self.results_path)

    def _read(self, path: Path) -> dict[str, Any]:
        if not path.is_file():
            raise UserError(
                f"{self.path} is no finished evaluation: it has no {path.name}; name the folder of "
                "a run of `mgpo evaluate` that has ended"
            )
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return values

    def read_problems(self, benchmark: str) -> list[dict[str, Any]]:
        """Return the row of each problem."""
        return [json.loads(line) for line in whole_lines(self.problems(benchmark))]

    def add_seconds(self, benchmark: str, seconds: float) -> float:
        """Add to the time a benchmark took, over launches, and return it.

        A launch that was killed adds nothing.
        """
        every = self._read(self._seconds_path) if self._seconds_path.is_file() else {}
        every[benchmark] = every.get(benchmark, 0.0) + seconds
        write_atomically(self._seconds_path, json.dumps(every) + "\n")
        return float(every[benchmark])


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{json.dumps(strict_json(row))}\n" for row in rows))
