"""A push of new weights, and the proof that every engine computes with them."""

import logging
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import xxhash

from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest

logger = logging.getLogger(__name__)

_DEFAULT_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.5}


class WeightSource(Protocol):
    """The learner, as a push sees it."""

    def export_weights(
        self, directory: Path, policy_version: int, bucket_bytes: int
    ) -> WeightManifest:
        """Write all weights into a directory."""

    def completion_logprobs(
        self, pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]
    ) -> list[list[float]]:
        """Return log-probabilities of (prompt ids, completion ids) pairs under the new weights."""


class CanaryRequest(Protocol):
    """A generation request; only its prompt is read here."""

    @property
    def prompt_token_ids(self) -> tuple[int, ...]:
        """Tokens of the prompt."""


class WeightSink(Protocol):
    """The rollout engines, as a push sees them."""

    def load_weights(self, manifest: WeightManifest) -> list[LoadReport]:
        """Make every engine take the weights."""

    def generate_on_each(self, requests: Sequence[Any]) -> list[list[tuple[Completion, ...]]]:
        """Let every engine answer the same requests."""


class WeightSyncError(RuntimeError):
    """An engine does not compute with the learner's weights."""


class SharedMemorySync:
    """Pushes weights through shared memory of one host."""

    def __init__(
        self,
        config: WeightSyncConfig,
        source: WeightSource,
        sink: WeightSink,
        canaries: Sequence[CanaryRequest],
        dtype: str,
        run_path: Path,
    ) -> None:
        self._config = config
        self._source = source
        self._sink = sink
        self._canaries = canaries
        self._tolerance = config.canary_tolerance or _DEFAULT_TOLERANCE[dtype]
        shared = Path("/dev/shm")
        memory = shared if shared.is_dir() else Path(tempfile.gettempdir())
        # One place per run, whose lock we hold: what a killed process left there goes now.
        self._root = memory / f"mgpo-{xxhash.xxh3_64_hexdigest(bytes(run_path.resolve()))}"
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(mode=0o700)
        self._current: Path | None = None
        self.policy_version: int | None = None
        """Of the last push that was verified."""

    def push(self, policy_version: int) -> dict[str, float]:
        """Send the learner's weights to every engine and verify them; return metrics.

        Raises WeightSyncError naming the engine and the tensors (or the canary) that differ.
        """
        directory = Path(tempfile.mkdtemp(prefix=f"version_{policy_version}_", dir=self._root))
        manifest = self._source.export_weights(
            directory, policy_version, self._config.bucket_mib * 2**20
        )
        for worker, report in enumerate(self._sink.load_weights(manifest)):
            check_report(manifest, report, f"rollout engine {worker}")
        gap = self._check_canaries(policy_version)
        if self._current is not None:
            shutil.rmtree(self._current)
        # The files stay until the next push: an engine that is replaced loads them.
        self._current = directory
        self.policy_version = policy_version
        sent = sum(tensor.num_bytes for bucket in manifest.buckets for tensor in bucket.tensors)
        return {"sync/mib": sent / 2**20, "sync/canary_gap_max": gap}

    def _check_canaries(self, policy_version: int) -> float:
        gap_max = 0.0
        for worker, answers in enumerate(self._sink.generate_on_each(self._canaries)):
            decoded = [completions[0] for completions in answers]
            pairs = [
                (request.prompt_token_ids, completion.token_ids)
                for request, completion in zip(self._canaries, decoded, strict=True)
            ]
            expected = self._source.completion_logprobs(pairs)
            for index, (completion, logprobs) in enumerate(zip(decoded, expected, strict=True)):
                gaps = [
                    abs(ours - theirs)
                    for ours, theirs in zip(logprobs, completion.rollout_logprobs, strict=True)
                ]
                gap_max = max(gap_max, *gaps)
                if not max(gaps) <= self._tolerance or completion.policy_version != policy_version:
                    raise WeightSyncError(
                        f"rollout engine {worker} does not compute with policy version "
                        f"{policy_version}: canary {index} differs from the learner's log-probs by "
                        f"{max(gaps):.3g} (allowed {self._tolerance:g}) and is tagged version "
                        f"{completion.policy_version}"
                    )
        return gap_max

    def close(self) -> None:
        """Remove the files in shared memory."""
        shutil.rmtree(self._root, ignore_errors=True)


def check_report(manifest: WeightManifest, report: LoadReport, engine: str) -> None:
    """Raise WeightSyncError unless an engine holds exactly what was sent."""
    sent, held = manifest.digests, report.digests
    wrong = sorted(name for name in sent.keys() | held.keys() if sent.get(name) != held.get(name))
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise WeightSyncError(
            f"{engine} holds other bytes than policy version {manifest.policy_version} in "
            f"{len(wrong)} of {len(sent)} tensors: {shown}"
        )
    if report.policy_version != manifest.policy_version:
        raise WeightSyncError(
            f"{engine} reports policy version {report.policy_version}, "
            f"{manifest.policy_version} was pushed"
        )
