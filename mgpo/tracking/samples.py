"""Every sample of a step in a compressed file of its own."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import zstandard

from mgpo.tracking.files import write_atomically
from mgpo.types import Group, Sample


def sample_record(group: Group, sample: Sample, index: int) -> dict[str, Any]:
    """Return what people want to know of a sample."""
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
        "detail": dict(outcome.detail),
        "reference": group.prompt.reference,
        "value": sample.value,
        "reward": sample.reward,
        "advantage": sample.advantage,
        "group_accuracy": group.group_accuracy,
        "mgpo_weight": group.mgpo_weight,
    }


def write_samples(path: Path, groups: Sequence[Group]) -> None:
    """Write all samples of a step as zstd-compressed JSON lines."""
    lines = [
        json.dumps(sample_record(group, sample, index), ensure_ascii=False, default=str)
        for group in groups
        for index, sample in enumerate(group.samples)
    ]
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", errors="replace")
    write_atomically(path, zstandard.ZstdCompressor().compress(data))


def read_samples(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the samples of a file that `write_samples` wrote."""
    data = zstandard.ZstdDecompressor().decompress(path.read_bytes())
    for line in data.decode("utf-8").splitlines():
        yield json.loads(line)
