"""Where a step is written: console, metrics.jsonl, samples, W&B."""

from collections.abc import Sequence
from dataclasses import asdict

from mgpo.config.stages import StageConfig
from mgpo.tracking.console import ConsoleWriter
from mgpo.tracking.jsonl import JsonlWriter
from mgpo.tracking.metrics import StepMetrics
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.samples import sample_record, write_samples
from mgpo.tracking.wandb_writer import WandbRun, WandbWriter
from mgpo.types import Group


class Tracker:
    """All writers of a run; each step goes to each of them once."""

    def __init__(self, run_dir: RunDir, config: StageConfig, resumed_step: int | None) -> None:
        self._run_dir = run_dir
        self._num_shown = config.tracking.wandb_samples
        self._jsonl = JsonlWriter(run_dir.metrics_path, resumed_step)
        self._console = ConsoleWriter(config.steps, progress_bar=config.tracking.progress_bar)
        self._wandb = None
        if config.tracking.wandb != "disabled":
            self._wandb = WandbWriter(
                lambda: WandbRun(
                    config.tracking,
                    run_dir.wandb_dir,
                    run_dir.wandb_id,
                    config.run.name,
                    asdict(config),
                )
            )

    def write(self, step: int, log: StepMetrics, groups: Sequence[Group] = ()) -> None:
        """Write what a step measured, and the samples it was trained on."""
        log.add({"time/step_s": log.elapsed_s})
        if groups:
            write_samples(self._run_dir.samples_dir / f"step_{step:06d}.jsonl.zst", groups)
        self._jsonl.write(step, log.values)
        self._console.write(step, log.values)
        if self._wandb is not None:
            self._wandb.write(step, log.values, self._shown(groups))

    def _shown(self, groups: Sequence[Group]) -> list[dict[str, object]]:
        """One sample of each of the first groups."""
        return [sample_record(group, group.samples[0], 0) for group in groups[: self._num_shown]]

    def close(self) -> None:
        """Close every writer."""
        self._console.close()
        self._jsonl.close()
        if self._wandb is not None:
            self._wandb.close()
