"""A push of weights, and the proof that every engine computes with them."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.types import Completion
from mgpo.weight_sync.transport import SentWeights, Transport
from mgpo.weight_sync.types import LoadReport

logger = logging.getLogger(__name__)

_DEFAULT_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.5}


class LogprobSource(Protocol):
    """The learner, as the canary check sees it."""

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

    def take_weights(self, weights: SentWeights) -> list[LoadReport]:
        """Make every engine take the weights."""

    def generate_on_each(self, requests: Sequence[Any]) -> list[list[tuple[Completion, ...]]]:
        """Let every engine answer the same requests."""


class WeightSyncError(RuntimeError):
    """An engine does not compute with the learner's weights."""


class WeightSync:
    """Pushes weights and verifies that they arrived."""

    def __init__(
        self,
        config: WeightSyncConfig,
        transport: Transport,
        source: LogprobSource,
        sink: WeightSink,
        canaries: Sequence[CanaryRequest],
        dtype: str,
    ) -> None:
        self._transport = transport
        self._source = source
        self._sink = sink
        self._canaries = canaries
        self._tolerance = config.canary_tolerance or _DEFAULT_TOLERANCE[dtype]
        self.policy_version: int | None = None
        """Of the last push that was verified."""

    def push(self, policy_version: int) -> dict[str, float]:
        """Send the learner's weights to every engine and verify them; return metrics.

        Raises WeightSyncError naming the engine and the tensors (or the canary) that differ.
        """
        weights = self._transport.publish(policy_version)
        for worker, report in enumerate(self._sink.take_weights(weights)):
            check_report(weights, report, f"rollout engine {worker}")
        gap = self._check_canaries(policy_version)
        self._transport.settle()
        self.policy_version = policy_version
        return {"sync/mib": weights.num_bytes / 2**20, "sync/canary_gap_max": gap}

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
        """Free what the transport holds."""
        self._transport.close()


def check_report(weights: SentWeights, report: LoadReport, engine: str) -> None:
    """Raise WeightSyncError unless an engine holds exactly what was sent."""
    sent, held = weights.digests, report.digests
    wrong = sorted(name for name in sent.keys() | held.keys() if sent.get(name) != held.get(name))
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise WeightSyncError(
            f"{engine} holds other bytes than policy version {weights.policy_version} in "
            f"{len(wrong)} of {len(sent)} tensors: {shown}"
        )
    if report.policy_version != weights.policy_version:
        raise WeightSyncError(
            f"{engine} reports policy version {report.policy_version}, "
            f"{weights.policy_version} was pushed"
        )
