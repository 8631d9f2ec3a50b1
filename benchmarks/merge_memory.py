"""Peak memory that `mgpo merge` adds, over what one tensor of each model would take.

Writes synthetic bfloat16 models of one large embedding and many layers' matrices into a temporary
folder, merges them in a process of its own, and reads that process' peak. Pages of mapped files
count. Linux only.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from parts import report_ratio
from transformers import Qwen2Config

from mgpo.config.merge import MergeConfig
from mgpo.data.weight_files import StoredTensor, write_weight_file
from mgpo.stages import merge

GOAL = 1.0
SLACK_MIB = 64
MIB = 2**20
_HIDDEN, _VOCABULARY = 2048, 151_936
"""Of Qwen2.5-3B."""
_LAYER_ROWS = 4 * _HIDDEN
_MERGE_HERE = "--merge-here"


def main() -> int:
    """Prints the peak and its share of the limit; exit code 1 if it is above."""
    args = _parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        models = [Path(folder) / f"model_{seed}" for seed in range(args.models)]
        largest = max(_write_model(path, seed, args.gib) for seed, path in enumerate(models))
        extra, seconds = _merge_elsewhere(models, Path(folder) / "merged")
    limit = args.models * largest + SLACK_MIB * MIB
    print(
        f"{args.models} models of {args.gib:g} GiB: {extra / MIB:,.0f} MiB more at the peak, "
        f"{seconds:.1f} s; {args.models} x the largest tensor + {SLACK_MIB} MiB = "
        f"{limit / MIB:,.0f} MiB"
    )
    return 0 if report_ratio("limit / peak", [limit / extra], GOAL) else 1


def _write_model(folder: Path, seed: int, gib: float) -> int:
    """Write a model of about `gib`; return the bytes of its largest tensor."""
    folder.mkdir()
    Qwen2Config(hidden_size=_HIDDEN, vocab_size=_VOCABULARY).save_pretrained(folder)
    path = folder / "model.safetensors"
    embedding = _stored(path, "embedding", min(_VOCABULARY, round(gib * 2**28 / _HIDDEN)))
    num_layers = round((gib * 2**30 - embedding.num_bytes) / (_LAYER_ROWS * _HIDDEN * 2))
    layers = [_stored(path, f"layer.{index}", _LAYER_ROWS) for index in range(num_layers)]
    tensors = [embedding, *layers]
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(_HIDDEN, _HIDDEN, generator=generator).bfloat16()
    pieces = (
        values[: stop - start]
        for each in tensors
        for start, stop in each.row_ranges(values.numel())
    )
    write_weight_file(path, tensors, {"format": "pt"}, pieces)
    return embedding.num_bytes


def _stored(path: Path, name: str, rows: int) -> StoredTensor:
    return StoredTensor(name=name, path=path, dtype="BF16", shape=(rows, _HIDDEN))


def _merge_elsewhere(models: Sequence[Path], output: Path) -> tuple[int, float]:
    """Return bytes that a fresh process takes more at its peak, and seconds."""
    command = [sys.executable, __file__, _MERGE_HERE, *map(str, models), str(output)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    extra, seconds = done.stdout.split()[-2:]
    return int(extra), float(seconds)


def _merge_here(models: Sequence[str], output: str) -> None:
    """Merge, and print bytes and seconds. A tiny merge before loads all that imports bring."""
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny"
        _write_model(tiny, 0, 2**-10)
        merge.run(MergeConfig(models=[str(tiny)] * 2, output=f"{folder}/merged"))
    before = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    started = time.perf_counter()
    merge.run(MergeConfig(models=list(models), output=output))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(peak - before, seconds)


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--gib", type=float, default=2.0, help="size of each model")
    parser.add_argument("--dir", type=Path, help="where there is room; default: the system's")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == [_MERGE_HERE]:
        _merge_here(sys.argv[2:-1], sys.argv[-1])
    else:
        sys.exit(main())
