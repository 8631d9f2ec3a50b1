"""What a generation engine must be able to do; the worker and the pool know no more than this."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from mgpo.config.model import RopeConfig
from mgpo.config.rollout import EngineConfig
from mgpo.types import Completion
from mgpo.weight_sync.types import LoadReport, WeightManifest


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineSetup:
    """All an engine needs to start."""

    model_path: str
    dtype: str
    """The compute type, e.g. bfloat16."""
    rope: RopeConfig = field(default_factory=RopeConfig)
    device: Literal["cpu", "cuda"]
    config: EngineConfig
    vocab_size: int
    """Of the tokenizer; ids beyond are never sampled."""
    stop_token_ids: Collection[int]
    transfer_timeout_s: float = 600.0
    """Longest wait in one call of a weight transfer between GPUs."""
    shares_device: bool = False
    """A learner computes on the same GPU, so memory must be given back between turns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingParams:
    """The distribution to sample from. Every field is set by us, whatever the model folder
    suggests."""

    temperature: float
    top_p: float
    top_k: int
    min_p: float
    max_completion_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerationRequest:
    """One prompt and the seeds of its samples; the group size is the number of seeds."""

    prompt_id: str
    prompt_token_ids: tuple[int, ...]
    seeds: tuple[int, ...]
    sampling: SamplingParams


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineLimits:
    """How the pool feeds an engine."""

    requests_per_dispatch: int
    """Requests that travel together. What a deterministic engine samples may depend on which
    requests share a dispatch, never on what else it is doing."""
    max_dispatches: int
    """Dispatches that one engine works on at a time."""


class Engine(Protocol):
    """An engine inside a worker. All methods run on the worker's event loop and must not block
    it."""

    async def start(self) -> None:
        """Load the model. Raises RuntimeError with the reason if that fails."""

    def limits(self, group_size: int) -> EngineLimits:
        """How many requests of that group size to send at once."""

    def generate(
        self, dispatch_id: str, requests: Sequence[GenerationRequest]
    ) -> AsyncIterator[tuple[int, tuple[Completion, ...]]]:
        """Yield (index into `requests`, its completions in the order of its seeds) as groups
        finish.

        Tokens in, tokens out. An aborted group comes back with finish reason `abort`.
        """

    async def abort(self, dispatch_id: str) -> None:
        """Stop the generation of a dispatch soon; an unknown id is ignored."""

    async def load_weights(self, manifest: WeightManifest) -> LoadReport:
        """Take new weights, drop every cache that depends on the old ones, raise the policy
        version.

        Only called while nothing is being generated. The report digests what the engine now
        computes
        with (of the bytes received where the engine repacks them).
        """

    async def transfer(self, method: str, payload: Any) -> None:
        """One of the calls of vLLM's weight transfer between GPUs; other engines have none."""

    async def confirm_weights(self, policy_version: int) -> LoadReport:
        """After a transfer: drop caches, raise the policy version, report what is held."""

    async def sleep(self) -> None:
        """Leave a shared device's memory to the learner until the next call; nothing runs then."""

    async def close(self) -> None:
        """Free the model and end every process the engine started."""
