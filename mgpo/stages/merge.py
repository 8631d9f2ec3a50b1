"""`mgpo merge`: the weighted mean of models, written as a model; no more than pieces of tensors are
in memory."""

import json
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from mgpo.algorithm.merge import weighted_mean
from mgpo.config.errors import DataError, UserError
from mgpo.config.merge import MergeConfig
from mgpo.data.same_model import TOKENIZER_FILES, refuse_different
from mgpo.data.weight_files import (
    FLOAT_TYPES,
    INDEX_FILE,
    StoredTensor,
    WeightFiles,
    in_file_order,
    read_metadata,
    read_weight_files,
    write_weight_file,
)
from mgpo.learner.checkpoint import publish_folder
from mgpo.tracking.code_version import code_version
from mgpo.tracking.provenance import describe_model, package_versions

logger = logging.getLogger(__name__)

_COPIED_FILES = ("config.json", "generation_config.json", "*.py", *TOKENIZER_FILES)
"""Patterns of what the first model gives beside its weights; *.py: a model's own code."""
_PIECE_ELEMENTS = 2**20
"""Of each model at a time: 8 MiB in float64. Mapping a file takes as long as half of that."""
_LOG_EVERY_S = 10.0
_GB = 1e9


def run(config: MergeConfig) -> str:
    """Check that the models can be merged, write the merged one, and return a summary.

    The output folder appears when it is whole. Raises UserError.
    """
    output = Path(config.output)
    _refuse_existing(output)
    models = [read_weight_files(folder) for folder in config.folders]
    refuse_different(models)
    provenance = _describe_merge(config)

    def write(folder: Path) -> None:
        try:
            _write_model(folder, models, config.shares)
            text = json.dumps(provenance, indent=1) + "\n"
            (folder / "provenance.json").write_text(text, encoding="utf-8")
            _refuse_existing(output)  # by now another process may have written there
        except BaseException:
            shutil.rmtree(folder)
            raise

    try:
        publish_folder(output, write)
    except OSError as error:
        raise UserError(f"output {output}: {error}") from error
    first = models[0]
    shares = ", ".join(f"{share:.6g}" for share in config.shares)
    return (
        f"merged {len(models)} models with weights {shares} into {output}: "
        f"{len(first.tensors)} tensors, {first.num_bytes / _GB:.2f} GB"
    )


def _refuse_existing(output: Path) -> None:
    if output.exists():
        raise UserError(f"output {output} exists already; remove it or name another output")


def _describe_merge(config: MergeConfig) -> dict[str, Any]:
    """Return what the merged model was made from."""
    logger.info("hashing the files of %d models", len(config.models))
    known = {model: describe_model(model) for model in set(config.models)}
    parents = [
        {**known[model], "weight": share}
        for model, share in zip(config.models, config.shares, strict=True)
    ]
    return {
        "merged_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "parents": parents,
        "versions": package_versions(),
        "code": asdict(code_version()),
    }


def _write_model(folder: Path, models: Sequence[WeightFiles], shares: Sequence[float]) -> None:
    first = models[0]
    patterns = [*_COPIED_FILES, *([INDEX_FILE] if first.is_sharded else [])]
    for path in {path for pattern in patterns for path in first.folder.glob(pattern)}:
        if path.is_file():
            shutil.copyfile(path, folder / path.name)
    progress = _Progress(first.num_bytes)
    for name, shard in first.shards().items():
        tensors = in_file_order(shard)
        pieces = (
            piece for tensor in tensors for piece in _merged_pieces(tensor.name, models, shares)
        )
        metadata = read_metadata(first.folder / name)
        write_weight_file(folder / name, tensors, metadata, progress.watch(pieces))
        logger.info("%s: %d tensors merged", name, len(tensors))


def _merged_pieces(
    name: str, models: Sequence[WeightFiles], shares: Sequence[float]
) -> Iterator[torch.Tensor]:
    """Yield the merged tensor in pieces. Raises DataError if it is not finite."""
    stored = [model.tensors[name] for model in models]
    if stored[0].dtype not in FLOAT_TYPES:
        stored, shares = stored[:1], [1.0]  # equal in all models
    for start, stop in stored[0].row_ranges(_PIECE_ELEMENTS):
        values = [tensor.read(start, stop) for tensor in stored]
        merged = weighted_mean(values, shares) if len(stored) > 1 else values[0]
        if not torch.isfinite(merged).all():
            _refuse_non_finite(stored, values)
        yield merged


def _refuse_non_finite(stored: Sequence[StoredTensor], values: Sequence[torch.Tensor]) -> None:
    for tensor, value in zip(stored, values, strict=True):
        bad = value[~torch.isfinite(value)]
        if len(bad):
            raise DataError(
                f"model {tensor.path.parent}: tensor {tensor.name} holds {bad[0].item()}; "
                "finite values are needed: leave this model out"
            )


class _Progress:
    """Logs how far a merge is, every few seconds."""

    def __init__(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._done = 0
        self._logged_at = time.monotonic()

    def watch(self, pieces: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        """Pass pieces through and count them."""
        for piece in pieces:
            yield piece
            self._done += piece.nbytes
            if time.monotonic() - self._logged_at >= _LOG_EVERY_S:
                self._logged_at = time.monotonic()
                logger.info("merged %.2f of %.2f GB", self._done / _GB, self._num_bytes / _GB)
