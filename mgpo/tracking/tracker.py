"""Where a step is written: metrics.jsonl, samples, console, W&B."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from mgpo.config.training import TrainingConfig
from mgpo.tracking.console import ConsoleWriter
from mgpo.tracking.jsonl import JsonlWriter
from mgpo.tracking.metrics import StepMetrics
from mgpo.tracking.run_dir import RunPaths
from mgpo.tracking.samples import drop_samples_after, sample_record, samples_path, write_samples
from mgpo.tracking.wandb_writer import WandbBackend, WandbWriter
from mgpo.types import Group


class Tracker:
    """All writers of a run; each step goes to each of them once."""

    def __init__(
        self,
        paths: RunPaths,
        config: TrainingConfig,
        resumed_step: int | None,
        *,
        total_steps: int,
    ) -> None:
        """Continue behind the checkpoint of `resumed_step`; None: start anew."""
        self._samples_dir = paths.samples_dir
        self._num_shown = config.tracking.wandb_samples
        drop_samples_after(paths.samples_dir, -1 if resumed_step is None else resumed_step)
        self._closing = ExitStack()
        self._jsonl = JsonlWriter(paths.metrics_path, resumed_step)
        self._closing.callback(self._jsonl.close)
        self._console = ConsoleWriter(
            total_steps, resumed_step, progress_bar=config.tracking.progress_bar
        )
        self._closing.callback(self._console.close)
        self._wandb = None
        if config.tracking.wandb != "disabled":
            self._wandb = WandbWriter(lambda: _start_wandb(config, paths, resumed_step))
            self._closing.callback(self._wandb.close)

    def write(self, step: int, log: StepMetrics, groups: Sequence[Group] = ()) -> None:
        """Write what a step measured, and the samples it was trained on."""
        record = log.finish()
        if groups:
            write_samples(samples_path(self._samples_dir, step), groups)
        self._jsonl.write(step, record)
        self._console.write(step, record)
        if self._wandb is not None:
            self._wandb.write(step, dict(record), self._shown(groups))

    def close(self) -> None:
        """Close every writer, also if one of them fails."""
        self._closing.close()

    def _shown(self, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """One sample of each of the first groups."""
        return [sample_record(group, group.samples[0], 0) for group in groups[: self._num_shown]]


def _start_wandb(config: TrainingConfig, paths: RunPaths, resumed_step: int | None) -> WandbBackend:
    from mgpo.tracking.wandb_run import WandbRun  # on the writer's thread: importing W&B is slow

    return WandbRun(config, paths, is_resumed=resumed_step is not None)
