"""The checkpoints of a run: each is whole or not there.

A checkpoint is written into a hidden folder, flushed to disk with a list of its files, and renamed;
only then are older ones removed. A process killed at any moment leaves the newest whole one in
place.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mgpo.config.checkpoint import CheckpointConfig
from mgpo.tracking.files import write_atomically

logger = logging.getLogger(__name__)

_PREFIX = "step_"
UNFINISHED = ".writing_"
"""Begins the name of a folder that is not whole yet."""
_STATE = "state.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainState:
    """Where a run stands, beside weights and optimizer."""

    step: int = 0
    """Steps finished; also the data position, since the order of prompts is a function of it."""
    num_updates: int = 0
    """Optimizer updates made, from which the learning rate follows."""
    policy_version: int = 0
    rows_taken: int | None = None
    """Rows of the order of training that were taken, in a supervised stage."""
    stop_accuracy: float | None = None
    """The held-out accuracy that met a stopping rule at this step."""
    owes_evaluation: bool = False
    """The evaluation that was due at this step was interrupted."""

    def advanced(self, num_updates: int) -> "TrainState":
        """Return the state one step later."""
        return TrainState(
            step=self.step + 1,
            num_updates=self.num_updates + num_updates,
            policy_version=self.policy_version + 1,
        )


class CheckpointStore:
    """Saves, finds, verifies and prunes the checkpoints of one folder."""

    def __init__(self, directory: Path, config: CheckpointConfig) -> None:
        self._directory = directory
        self._config = config
        directory.mkdir(parents=True, exist_ok=True)
        for leftover in directory.glob(f"{UNFINISHED}*"):
            logger.warning("removing %s: its save was interrupted", leftover)
            shutil.rmtree(leftover)

    def save_if_due(
        self, state: TrainState, last_step: int, save_learner: Callable[[Path], None]
    ) -> None:
        """Save every `checkpoint.every` steps and after the last one."""
        is_last = state.stop_accuracy is not None or state.step == last_step
        if is_last or state.step % self._config.every == 0:
            self.save(state, save_learner)

    def save(self, state: TrainState, save_learner: Callable[[Path], None]) -> None:
        """Publish a checkpoint; `save_learner` writes the ranks' part into the folder it is given.

        Before the first step there is nothing to save.
        """
        target = self._directory / f"{_PREFIX}{state.step:06d}"
        if state.step == 0 or target.exists():
            return

        def write(folder: Path) -> None:
            save_learner(folder / "learner")
            sizes = {str(path.relative_to(folder)): path.stat().st_size for path in _files(folder)}
            write_atomically(folder / _STATE, _dump(state, sizes))

        publish_folder(target, write)
        for old in self._published()[: -self._config.keep_last]:
            # Out of sight first: half a checkpoint must not look like one.
            shutil.rmtree(old.rename(old.with_name(f"{UNFINISHED}{old.name}")))

    def amend(self, state: TrainState) -> None:
        """Put a state in the place of the one saved at the same step, if one was."""
        path = self._directory / f"{_PREFIX}{state.step:06d}" / _STATE
        if path.exists():
            write_atomically(path, _dump(state, json.loads(path.read_text())["files"]))

    def restore(
        self, resume: Literal["auto", "must", "never"], load_learner: Callable[[Path], None]
    ) -> TrainState | None:
        """Load the newest whole checkpoint; None if there is none to continue from.

        Raises FileNotFoundError under `must` when nothing is there, RuntimeError for a damaged one.
        """
        published = [] if resume == "never" else self._published()
        if not published:
            if resume == "must":
                raise FileNotFoundError(
                    f"run.resume is must, but {self._directory} holds no checkpoint; "
                    "use run.resume=auto to start anew"
                )
            logger.info("no checkpoint in %s: starting at step 0", self._directory)
            return None
        newest = published[-1]
        record = json.loads((newest / _STATE).read_text(encoding="utf-8"))
        for name, size in record["files"].items():
            path = newest / name
            if not path.is_file() or path.stat().st_size != size:
                raise RuntimeError(
                    f"checkpoint {newest} is damaged: {name} should have {size} bytes; "
                    "remove that folder to continue from the one before"
                )
        load_learner(newest / "learner")
        logger.info("resumed from %s", newest)
        return TrainState(**record["state"])

    def _published(self) -> list[Path]:
        return sorted(self._directory.glob(f"{_PREFIX}*"))


def publish_folder(target: Path, write: Callable[[Path], None]) -> None:
    """Write a folder aside, flush it to disk, and give it its name: it is whole or not there."""
    writing = target.with_name(f"{UNFINISHED}{target.name}")
    if writing.exists():
        shutil.rmtree(writing)
    writing.mkdir(parents=True)
    write(writing)
    for path in [*_files(writing), *(p for p in writing.rglob("*") if p.is_dir()), writing]:
        _flush(path)
    if target.exists():
        shutil.rmtree(target)
    writing.rename(target)
    _flush(target.parent)


def _dump(state: TrainState, sizes: dict[str, int]) -> str:
    return json.dumps({"state": asdict(state), "files": sizes}, indent=1)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
