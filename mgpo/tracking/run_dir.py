"""The run directory: one process holds it, and it says what was run, from what, and when."""

import logging
from itertools import pairwise
from pathlib import Path
from typing import Self

from mgpo.config.errors import ConfigError, UserError
from mgpo.config.stage import StageConfig
from mgpo.tracking.config_history import config_changes, refuse_broken_continuation, store_config
from mgpo.tracking.lock import RunLock
from mgpo.tracking.provenance import (
    append_launch,
    describe_launch,
    read_launches,
    refuse_changed_inputs,
)
from mgpo.tracking.run_log import RunLog

logger = logging.getLogger(__name__)


class RunPaths:
    """Where things lie in a run directory; enough to read one, running or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_path = path / "config.yaml"
        """The resolved configuration; earlier ones lie beside it as config.1.yaml, ..."""
        self.provenance_path = path / "provenance.json"
        self.metrics_path = path / "metrics.jsonl"
        self.samples_dir = path / "samples"
        self.filters_dir = path / "filters"
        """The rows that are filtered, and what each finished filter decided."""
        self.checkpoints_dir = path / "checkpoints"
        self.exports_dir = path / "exports"
        self.final_dir = path / "final"
        self.wandb_dir = path / "wandb"
        self.wandb_id_path = path / "wandb_id"
        """Names the W&B run that a resumed run goes on with."""
        self.log_path = path / "run.log"
        self.lock_path = path / "run.lock"
        """Locked while a process works on the run; names that process."""

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to continue from."""
        return any(self.checkpoints_dir.glob("step_*"))

    @property
    def has_progress(self) -> bool:
        """Whether something was done here that a further launch goes on with."""
        has_samples = any(self.samples_dir.glob("*.jsonl"))
        has_filtered = any(self.filters_dir.glob("[!.]*"))
        return self.has_checkpoint or has_samples or has_filtered

    @property
    def holds_run(self) -> bool:
        """Whether a run was started here."""
        return self.config_path.is_file() or self.metrics_path.is_file() or self.has_checkpoint


class RunDir(RunPaths):
    """An exclusively held run directory."""

    def __init__(self, path: Path, lock: RunLock) -> None:
        super().__init__(path)
        self._lock = lock
        self._log = RunLog(self.log_path)

    @classmethod
    def open(cls, config: StageConfig) -> Self:
        """Make or re-open the folder of a run, and record its configuration and provenance.

        Raises UserError if the folder would not outlive a Ray job, if another process holds it, if
        `run.resume` forbids what is found, or if the configuration or an input differs in a way
        that a checkpoint cannot be continued with.
        """
        paths = RunPaths(config.run.path)
        _refuse_passing_folder(paths.path)
        _check_resume(paths, config.run.resume)
        try:
            paths.samples_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"run.dir: cannot make {paths.path}: {error}") from error
        run_dir = cls(paths.path, RunLock(paths.lock_path))
        try:
            run_dir._record(config)
        except BaseException:
            run_dir.close()
            raise
        return run_dir

    def close(self) -> None:
        """Let go of the folder."""
        self._log.close()
        self._lock.release()

    def _record(self, config: StageConfig) -> None:
        changes = config_changes(self.config_path, config)
        launches = read_launches(self.provenance_path)
        launch = describe_launch(config)
        if self.has_progress:
            refuse_broken_continuation(changes, config.fixed_keys, self.path)
            if launches:
                refuse_changed_inputs(launches[-1], launch, config.fixed_keys, self.path)
        store_config(self.config_path, config, changes)
        append_launch(self.provenance_path, launch)
        logger.info("run %s, launch %d", self.path, len(launches) + 1)


def _refuse_passing_folder(path: Path) -> None:
    """The working directory of a Ray job is a copy on one host, which Ray deletes some day."""
    if any(
        parent.startswith("session_") and child == "runtime_resources"
        for parent, child in pairwise(path.parts)
    ):
        raise ConfigError(
            f"run.dir: {path} lies in the copy of the working directory that Ray made for this job "
            "and deletes later; set run.dir=/absolute/path on storage that all hosts share"
        )


def _check_resume(run: RunPaths, resume: str) -> None:
    if resume == "never" and run.holds_run:
        raise ConfigError(
            f"{run.path} holds a run already and run.resume is never; "
            "choose another run.name, or run.resume=auto to continue it"
        )
    if resume == "must" and not run.has_progress:
        raise ConfigError(
            f"run.resume is must, but {run.path} holds no checkpoint and no samples; "
            "check run.dir and run.name, or use run.resume=auto to start anew"
        )
