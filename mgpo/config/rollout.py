"""How completions are sampled for training."""

from dataclasses import dataclass
from typing import Literal

from mgpo.config.ranges import require_above, require_at_least, require_within

EngineName = Literal["auto", "vllm", "hf"]
_WHY_FULL = "training samples from the full distribution: truncated sampling biases every ratio"


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """The engines, whatever is sampled with them."""

    engine: EngineName = "auto"
    """vllm: continuous batching, for real models; hf: batched generation on a transformers model,
    the same to the bit each time; auto: vllm where it is installed."""
    num_workers: int = 1
    """Engines, each in a Ray actor of its own."""
    max_model_len: int | None = None
    """Context of the engine in tokens; None: the model's own."""
    max_batch_samples: int = 256
    """Sequences that one engine decodes at once."""
    tensor_parallel_size: int = 1
    """GPUs of one engine (vllm)."""
    gpu_memory_utilization: float | None = None
    """Share of a GPU's memory that an engine takes for weights and cache (vllm); None: 0.9, or 0.4
    where it shares the GPU with a learner rank."""
    cpu_kv_cache_gib: float = 1.0
    """Memory of the key-value cache on a CPU (vllm)."""
    deterministic: bool = False
    """vllm: give each sample a random generator of its own, from the run's seed, which is slower.
    Samples then repeat as far as the engine's arithmetic does not depend on what shares a batch.
    hf is deterministic in any case."""
    timeout_s: float = 1800.0
    """Longest wait for the next finished group, and for an engine to take weights."""
    start_timeout_s: float = 900.0
    """Longest wait for an engine to load its model."""
    max_restarts: int = 3
    """Engines that may be replaced in one step before the run stops."""

    def __post_init__(self) -> None:
        require_at_least("rollout.num_workers", self.num_workers, 1)
        require_at_least("rollout.max_batch_samples", self.max_batch_samples, 1)
        require_at_least("rollout.tensor_parallel_size", self.tensor_parallel_size, 1)
        if self.gpu_memory_utilization is not None:
            require_within("rollout.gpu_memory_utilization", self.gpu_memory_utilization, 0, 1)
        require_above("rollout.cpu_kv_cache_gib", self.cpu_kv_cache_gib, 0)
        require_at_least("rollout.max_restarts", self.max_restarts, 0)
        require_above("rollout.timeout_s", self.timeout_s, 0)
        require_above("rollout.start_timeout_s", self.start_timeout_s, 0)


@dataclass(frozen=True, kw_only=True)
class RolloutConfig(EngineConfig):
    """The engines of a training stage and the distribution it samples from."""

    group_size: int = 16
    """Completions per prompt, G (recipe 2, ours)."""
    temperature: float = 1.0
    """Applied by engine and learner alike."""
    top_p: float = 1.0
    """1: training samples from the full distribution."""
    top_k: int = -1
    """-1: off."""
    min_p: float = 0.0
    """0: off."""
    max_completion_tokens: int = 1024
    """A completion that reaches it is truncated, and wrong."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group_size < 2:
            raise ValueError(
                f"rollout.group_size must be at least 2, got {self.group_size}: "
                "an advantage compares the completions of one prompt"
            )
        require_above("rollout.temperature", self.temperature, 0)
        require_at_least("rollout.max_completion_tokens", self.max_completion_tokens, 1)
        if self.top_p != 1.0:
            raise ValueError(f"rollout.top_p must be 1.0, got {self.top_p}: {_WHY_FULL}")
        if self.top_k != -1:
            raise ValueError(f"rollout.top_k must be -1 (off), got {self.top_k}: {_WHY_FULL}")
        if self.min_p != 0.0:
            raise ValueError(f"rollout.min_p must be 0.0, got {self.min_p}: {_WHY_FULL}")
