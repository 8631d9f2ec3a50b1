"""Sends the figures of an evaluation to Weights & Biases: a summary and a table, best effort."""

from collections.abc import Mapping
from typing import Any

from mgpo.config.evaluate import EvaluateConfig
from mgpo.tracking.run_dir import RunPaths
from mgpo.tracking.wandb_writer import WandbBackend, WandbWriter

_CLOSE_S = 60.0
"""Its start is waited for, too: nothing else is going on."""


def send_results(
    config: EvaluateConfig, paths: RunPaths, results: Mapping[str, Mapping[str, Any]]
) -> None:
    """Log every figure as `benchmark/figure`, and a table `benchmarks` with a row for each."""
    if config.tracking.wandb == "disabled":
        return

    def start() -> WandbBackend:
        from mgpo.tracking.wandb_run import WandbRun  # on the writer's thread: it is slow

        is_resumed = paths.wandb_id_path.is_file()
        return WandbRun(config, paths, is_resumed=is_resumed, table="benchmarks")

    flat = {name: _flat(figures) for name, figures in results.items()}
    record = {f"{name}/{key}": value for name, row in flat.items() for key, value in row.items()}
    columns = list(dict.fromkeys(key for row in flat.values() for key in row))
    rows = [
        {"benchmark": name, **{key: row.get(key) for key in columns}} for name, row in flat.items()
    ]
    writer = WandbWriter(start, close_s=_CLOSE_S)
    writer.write(0, record, rows)
    writer.close()


def _flat(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers, those of a figure with its interval as key, key.low, key.high."""
    flat: dict[str, float] = {}
    for key, value in figures.items():
        if isinstance(value, Mapping) and "mean" in value:
            flat |= {key: value["mean"], f"{key}.low": value["low"], f"{key}.high": value["high"]}
        elif isinstance(value, int | float):
            flat[key] = value
    return flat
