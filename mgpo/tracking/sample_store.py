"""Samples of a stage that learns nothing: a line each, appended as they finish, so that a run that
was cut goes on where it was."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TextIO

from mgpo.tracking.files import strict_json, write_atomically
from mgpo.tracking.metrics import whole_lines
from mgpo.types import Completion, FinishReason
from rewards.types import Outcome, error

UNGRADED = error("ungraded")
"""The outcome of a sample that no reward has seen yet."""

SampleKey = tuple[str, int]
"""Id of the prompt, index of the sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSample:
    """One completion with its verdict, as it lies on disk."""

    prompt_id: str
    sample_index: int
    """From 0 to samples_per_prompt - 1."""
    text: str
    num_tokens: int
    """Sampled tokens, the end of the turn included."""
    finish_reason: FinishReason
    mean_logprob: float | None
    """Of the sampled tokens, under the distribution they were sampled from; None: no token."""
    outcome: Outcome

    @classmethod
    def of(cls, key: SampleKey, completion: Completion, outcome: Outcome) -> Self:
        """Keep what evaluations read of a completion."""
        logprobs = completion.rollout_logprobs
        return cls(
            prompt_id=key[0],
            sample_index=key[1],
            text=completion.text,
            num_tokens=len(completion.token_ids),
            finish_reason=completion.finish_reason,
            mean_logprob=sum(logprobs) / len(logprobs) if logprobs else None,
            outcome=outcome,
        )

    @property
    def key(self) -> SampleKey:
        """What tells it from every other sample of its stage."""
        return self.prompt_id, self.sample_index

    @property
    def is_valid(self) -> bool:
        """Whether there is a verdict; without one it counts for nothing."""
        return self.outcome.is_valid

    @property
    def is_truncated(self) -> bool:
        """Whether the length limit ended it."""
        return self.finish_reason == "length"

    @property
    def is_correct(self) -> bool:
        """The verdict; a truncated completion is wrong whatever its text says."""
        return self.outcome.correct and not self.is_truncated

    def graded(self, outcome: Outcome) -> "StoredSample":
        """Return the same completion with another verdict."""
        return replace(self, outcome=outcome)


class SampleStore:
    """The samples of one stage, in one JSON-lines file. A key's last line counts."""

    def __init__(self, path: Path) -> None:
        """Read what is there, without the line that a killed writer left unfinished."""
        self._path = path
        lines = whole_lines(path)
        self._samples = {sample.key: sample for sample in map(_parse, lines)}
        write_atomically(path, "".join(f"{line}\n" for line in lines))
        self._file: TextIO = path.open("a", encoding="utf-8")

    def add(self, samples: Iterable[StoredSample]) -> None:
        """Append samples; they outlive this process from here on."""
        for sample in samples:
            self._samples[sample.key] = sample
            # Escaped to ASCII: completions hold line separators and lone surrogates.
            self._file.write(json.dumps(_record(sample)) + "\n")
        self._file.flush()

    def __contains__(self, key: SampleKey) -> bool:
        return key in self._samples

    def __len__(self) -> int:
        return len(self._samples)

    def find(self, key: SampleKey) -> StoredSample | None:
        """Return a sample; None if it is absent."""
        return self._samples.get(key)

    def of_prompt(self, prompt_id: str, count: int) -> list[StoredSample]:
        """Return a prompt's samples below index `count`, in order; absent ones are left out."""
        keys = ((prompt_id, index) for index in range(count))
        return [self._samples[key] for key in keys if key in self._samples]

    def without_verdict(self) -> list[StoredSample]:
        """Return the samples whose grading failed."""
        return [sample for sample in self._samples.values() if not sample.is_valid]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_stored_samples(path: Path) -> list[StoredSample]:
    """Return the samples of a file that a SampleStore wrote, oldest first."""
    samples = {sample.key: sample for sample in map(_parse, whole_lines(path))}
    return list(samples.values())


def _record(sample: StoredSample) -> dict[str, Any]:
    outcome = sample.outcome
    return {
        "prompt_id": sample.prompt_id,
        "sample_index": sample.sample_index,
        "text": sample.text,
        "num_tokens": sample.num_tokens,
        "finish_reason": sample.finish_reason,
        "mean_logprob": sample.mean_logprob,
        "outcome": {
            "status": outcome.status,
            "correct": outcome.correct,
            "value": outcome.value,
            "reason": outcome.reason,
            "detail": strict_json(dict(outcome.detail)),
            "time_s": outcome.time_s,
            "is_graded": outcome.is_graded,
        },
    }


def _parse(line: str) -> StoredSample:
    record = json.loads(line)
    return StoredSample(**{**record, "outcome": Outcome(**record["outcome"])})
