"""Every sample of a step in a compressed file of its own."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import zstandard

from mgpo.tracking.files import strict_json, write_atomically
from mgpo.types import Group, Sample


def samples_path(samples_dir: Path, step: int) -> Path:
    """Return where the samples of a step lie."""
    return samples_dir / f"step_{step:06d}.jsonl.zst"


def sample_record(group: Group, sample: Sample, index: int) -> dict[str, Any]:
    """Return what people want to know of a sample; `index` counts the group's valid samples."""
    completion, outcome = sample.completion, sample.outcome
    return {
        "prompt_id": group.prompt.id,
        "sample_index": index,
        "prompt": [dict(message) for message in group.prompt.messages],
        "completion": completion.text,
        "completion_tokens": len(completion.token_ids),
        "finish_reason": completion.finish_reason,
        "policy_version": completion.policy_version,
        "outcome": outcome.word,
        "reason": outcome.reason,
        "detail": strict_json(dict(outcome.detail)),
        "reference": strict_json(group.prompt.reference),
        "value": sample.value,
        "reward": sample.reward,
        "length_shift": sample.length_shift,
        "overlong_shift": sample.overlong_shift,
        "advantage": sample.advantage,
        "group_accuracy": group.group_accuracy,
        "mgpo_weight": group.mgpo_weight,
    }


def write_samples(path: Path, groups: Sequence[Group]) -> None:
    """Write all samples of a step as zstd-compressed JSON lines."""
    # Escaped to ASCII: completions hold line separators and, from cut characters, lone surrogates.
    lines = [
        json.dumps(sample_record(group, sample, index)) + "\n"
        for group in groups
        for index, sample in enumerate(group.samples)
    ]
    write_atomically(path, zstandard.ZstdCompressor().compress("".join(lines).encode("ascii")))


def read_samples(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the samples of a file that `write_samples` wrote."""
    data = zstandard.ZstdDecompressor().decompress(path.read_bytes())
    for line in data.decode("ascii").splitlines():
        yield json.loads(line)


def drop_samples_after(samples_dir: Path, step: int) -> None:
    """Remove the samples of steps that will run again."""
    kept_until = samples_path(samples_dir, step).name
    for path in samples_dir.glob("step_*.jsonl.zst"):
        if path.name > kept_until:
            path.unlink()
