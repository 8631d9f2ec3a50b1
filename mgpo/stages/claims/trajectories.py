"""The samples of a finished evaluation as trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgpo.config.clr import ClrConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.data.benchmark import problems_digest
from mgpo.data.rows import Row
from mgpo.tracking.result_files import ResultFiles
from mgpo.tracking.sample_store import StoredSample, read_stored_samples


@dataclass(frozen=True, slots=True)
class StoredTrajectories:
    """A finished evaluation, as far as its samples serve."""

    files: ResultFiles
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str) -> "StoredTrajectories":
        """Read what a folder holds. Raises UserError if it is no finished evaluation."""
        files = ResultFiles(Path(folder))
        files.read_results()
        return cls(files, files.read_manifest())

    def check(self, benchmark: str, rows: Sequence[Row], config: ClrConfig) -> None:
        """Raise ConfigError unless the same problems were sampled there, often enough."""
        facts = self.manifest["benchmarks"].get(benchmark)
        if facts is None:
            raise ConfigError(
                f"from_samples: {self.files.path} has no benchmark {benchmark}; it has "
                f"{', '.join(self.manifest['benchmarks'])}"
            )
        if facts["problems_sha256"] != problems_digest(rows):
            raise ConfigError(
                f"from_samples: the problems of {benchmark} in {self.files.path} are others than "
                "those of this run; set data, template, reward and max_prompts as they were there"
            )
        if self._count(benchmark) < config.num_trajectories:
            raise ConfigError(
                f"from_samples: {self.files.path} has {self._count(benchmark)} samples of each "
                f"problem of {benchmark}, and num_trajectories is {config.num_trajectories}; "
                "lower it, or evaluate with more samples"
            )

    def read(
        self, benchmark: str, rows: Sequence[Row], config: ClrConfig
    ) -> list[list[StoredSample]]:
        """Return the trajectories of each problem, those of all repeats.

        Repeat i takes the samples i K to (i + 1) K - 1; when there are no more it begins again, and
        the claims of those are asked for with other seeds. Raises UserError if a sample is missing.
        """
        stored = {each.key: each for each in read_stored_samples(self.files.samples(benchmark))}
        num_sets = self.num_sets(benchmark, config)
        size = config.num_trajectories
        keys = [
            [
                (row.id, repeat % num_sets * size + place)
                for repeat in range(config.num_repeats)
                for place in range(size)
            ]
            for row in rows
        ]
        missing = next((key for its in keys for key in its if key not in stored), None)
        if missing is not None:
            raise UserError(
                f"from_samples: {self.files.samples(benchmark)} lacks sample {missing}; run the "
                "evaluation again, which goes on where it was"
            )
        return [[stored[key] for key in its] for its in keys]

    def num_sets(self, benchmark: str, config: ClrConfig) -> int:
        """Return how many of the repeats have trajectories of their own."""
        return min(config.num_repeats, self._count(benchmark) // config.num_trajectories)

    def sampling(self, benchmark: str) -> dict[str, Any]:
        """Return how they were sampled, as results and tables say it."""
        facts: dict[str, Any] = self.files.read_results()["benchmarks"][benchmark]["sampling"]
        return facts

    def _count(self, benchmark: str) -> int:
        return int(self.manifest["benchmarks"][benchmark]["sampling"]["samples_per_prompt"])
