"""A run as Weights & Biases knows it. The only place that imports wandb."""

import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import wandb

from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.training import TrainingConfig
from mgpo.tracking.files import write_atomically
from mgpo.tracking.run_dir import RunPaths

logger = logging.getLogger(__name__)

_Tracked = TrainingConfig | EvaluateConfig

Mode = Literal["online", "offline", "disabled"]

_INIT_S = 30.0
_FINISH_S = 8.0
"""W&B gives up on uploading after that; `wandb sync` uploads the rest."""


class WandbRun:
    """A W&B run with our own step axis; the same id continues it after a resume."""

    def __init__(
        self, config: _Tracked, paths: RunPaths, *, is_resumed: bool, table: str = "samples"
    ) -> None:
        """Start it, which may take long: online if it can be, else recorded in the run's folder.

        `table` is what the rows are called that come with a step.
        """
        self._table = table
        wandb.setup(wandb.Settings(silent=True))
        run_id = _run_id(paths.wandb_id_path, is_resumed=is_resumed)
        mode = _choose_mode(config.tracking.wandb)
        try:
            self._run = _start(config, paths, run_id, mode)
        except wandb.Error as error:
            if mode != "online":
                raise
            logger.warning("W&B cannot be reached (%s): recording offline", _first_line(error))
            wandb.teardown()  # the attempt still owns the id
            self._run = _start(config, paths, run_id, "offline")
        # W&B's own counter must grow, which steps that run again would break; our axis is free.
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")
        where = f"offline in {paths.wandb_dir}" if self._run.offline else self._run.url
        logger.info("W&B run %s: %s", run_id, where)

    def log(
        self, step: int, record: Mapping[str, float], samples: Sequence[Mapping[str, Any]]
    ) -> None:
        """Send the metrics of a step, with a table of a few of its samples.

        Each step has a table of its own: one that grows would be sent whole, and kept, every step.
        """
        data: dict[str, Any] = {"step": step, **record}
        if samples:
            rows = [[_cell(value) for value in sample.values()] for sample in samples]
            data[self._table] = wandb.Table(columns=list(samples[0]), data=rows)
        self._run.log(data)

    def finish(self) -> None:
        """Upload what is left, for a few seconds at most, and end W&B's process."""
        try:
            self._run.finish()
        finally:
            # Else W&B does it when Python exits, with a traceback if its process was stopped too.
            wandb.teardown()


def _start(config: _Tracked, paths: RunPaths, run_id: str, mode: Mode | None) -> wandb.Run:
    return wandb.init(
        project=config.tracking.project,
        entity=config.tracking.entity,
        name=config.run.name,
        id=run_id,
        resume=None if mode == "offline" else "allow",  # offline, W&B ignores it with a warning
        mode=mode,
        dir=paths.path,
        config=asdict(config),
        settings=wandb.Settings(
            silent=True,
            console="off",  # run.log has the console
            disable_job_creation=True,
            init_timeout=_INIT_S,
            finish_timeout=_FINISH_S,
        ),
    )


def _choose_mode(wanted: Literal["auto", "online", "offline", "disabled"]) -> Mode | None:
    """Resolve `auto` (None: WANDB_MODE decides); W&B never asks for a key on the terminal."""
    if wanted == "auto" and "WANDB_MODE" in os.environ:
        return None
    if wanted in ("offline", "disabled"):
        return wanted
    if wandb.login(prompt=False, verify=False):
        return "online"
    if wanted == "online":
        logger.warning(
            "tracking.wandb is online, but W&B has no key: recording offline; "
            "set WANDB_API_KEY, or upload later with `wandb sync`"
        )
    return "offline"


def _run_id(path: Path, *, is_resumed: bool) -> str:
    """Return the id of the run that is continued, or a new one, which it remembers."""
    if is_resumed and path.is_file():
        return path.read_text(encoding="utf-8").strip()
    run_id = secrets.token_hex(6)
    write_atomically(path, f"{run_id}\n")
    return run_id


def _cell(value: Any) -> str | float | None:
    return value if value is None or isinstance(value, int | float) else str(value)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
