"""The models of a run in Hugging Face format, one folder for every so many steps, all kept."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from mgpo.config.checkpoint import CheckpointConfig
from mgpo.learner.checkpoint import UNFINISHED, TrainState, publish_folder

logger = logging.getLogger(__name__)


class ModelExports:
    """Writes `step_*` folders, each whole or not there, into one folder."""

    def __init__(self, directory: Path, config: CheckpointConfig) -> None:
        self._directory = directory
        self._every = config.export_every
        for leftover in directory.glob(f"{UNFINISHED}*"):
            logger.warning("removing %s: its export was interrupted", leftover)
            shutil.rmtree(leftover)

    def write_if_due(self, state: TrainState, export_model: Callable[[Path], None]) -> None:
        """Write the model every `checkpoint.export_every` steps; a step that is run again after a
        kill is written again."""
        if self._every is None or state.step % self._every != 0:
            return
        target = self._directory / f"step_{state.step:06d}"
        publish_folder(target, export_model)
        logger.info("model of step %d: %s", state.step, target)
