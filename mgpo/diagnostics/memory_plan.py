"""What a GPU will hold, by arithmetic: an estimate to choose ranks and token budgets by, before any
GPU is paid for. docs/cluster.md says how it compares to what was measured."""

from dataclasses import dataclass
from typing import Any

from mgpo.config.training import RlConfig, TrainingConfig

_GIB = 2**30
_FP32 = 4
_TRAINED_BYTES = 4 * _FP32
"""Of a parameter: master weight, gradient and AdamW's two moments, all float32."""
_HEAD_BLOCKS = 3
"""Blocks of logits alive at once in the head: logits, probabilities, their gradient."""
_RUNTIME_GIB = 2.0
"""CUDA context, NCCL buffers and what the allocator keeps unused (a guess)."""
_MASTERS = "master weights, gradients, AdamW (float32, sharded)"
_OWN_SHARE, _SHARED_SHARE = 0.9, 0.4
"""What an engine takes of a GPU where rollout.gpu_memory_utilization is not set."""
_DTYPE_BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """The sizes of a decoder with gated MLPs (Qwen2, Qwen3, Llama)."""

    num_layers: int
    hidden: int
    intermediate: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocabulary: int
    is_tied: bool

    @classmethod
    def of(cls, config: Any) -> "ModelShape":
        """Read the sizes of a transformers config."""
        text = config.get_text_config()
        heads = text.num_attention_heads
        return cls(
            num_layers=text.num_hidden_layers,
            hidden=text.hidden_size,
            intermediate=text.intermediate_size,
            num_heads=heads,
            num_kv_heads=getattr(text, "num_key_value_heads", None) or heads,
            head_dim=getattr(text, "head_dim", None) or text.hidden_size // heads,
            vocabulary=text.vocab_size,
            is_tied=bool(text.tie_word_embeddings),
        )

    @property
    def layer_parameters(self) -> int:
        """Of one decoder layer, biases and norms aside."""
        attention = self.hidden * self.head_dim * 2 * (self.num_heads + self.num_kv_heads)
        return attention + 3 * self.hidden * self.intermediate

    @property
    def embedding_parameters(self) -> int:
        """Of the embedding and of a head that is not tied to it."""
        return self.vocabulary * self.hidden * (1 if self.is_tied else 2)

    @property
    def parameters(self) -> int:
        """Of the whole model."""
        return self.num_layers * self.layer_parameters + self.embedding_parameters

    @property
    def layer_activation_elements(self) -> int:
        """Numbers per token that the backward pass of one layer reads: input, two norms, queries
        and attention output, keys and values, and four of the MLP's width."""
        attention = self.head_dim * (2 * self.num_heads + 2 * self.num_kv_heads)
        return 4 * self.hidden + attention + 4 * self.intermediate

    @property
    def cache_elements(self) -> int:
        """Numbers per token in the key-value cache."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim


def plan_memory(config: TrainingConfig, shape: ModelShape, gpu_gib: float) -> list[tuple[str, str]]:
    """Return rows of (what, how much) for one GPU of a learner rank and one of an engine."""
    parts = learner_gib(config, shape)
    total = sum(parts.values())
    fits = "" if total <= gpu_gib else f"  MORE than {gpu_gib:.0f}: more ranks or a lower budget"
    rows = [(f"{shape.parameters / 1e9:.2f} B parameters", f"{config.learner.num_ranks} ranks")]
    rows += [(f"learner: {what}", f"{gib:.1f} GiB") for what, gib in parts.items()]
    rows.append(("learner, a rank", f"{total:.1f} GiB{fits}"))
    whole = _FP32 * shape.parameters / _GIB + _RUNTIME_GIB  # before it is sharded
    fits = "" if whole <= gpu_gib else f"  MORE than {gpu_gib:.0f}: a larger GPU"
    rows.append(("learner, while a rank loads", f"{whole:.1f} GiB{fits}"))
    rows += _engine_rows(config, shape, gpu_gib)
    if config.rollout.num_workers == config.learner.num_ranks:
        share = config.rollout.gpu_memory_utilization or _SHARED_SHARE
        both = parts[_MASTERS] + parts["runtime"] + share * gpu_gib
        fits = "" if both <= gpu_gib else "  MORE: lower rollout.gpu_memory_utilization"
        rows.append(("where a rank and an engine share a GPU, sampling", f"{both:.1f} GiB{fits}"))
    return rows


def learner_gib(config: TrainingConfig, shape: ModelShape) -> dict[str, float]:
    """Return the peak of a learner rank by its parts, in GiB."""
    learner, width = config.learner, _DTYPE_BYTES[config.model.dtype]
    tokens, ranks = learner.max_tokens_per_microbatch, learner.num_ranks
    whole = shape.embedding_parameters + 2 * shape.layer_parameters
    if learner.activation_checkpointing:  # the input of every layer, and one layer anew
        elements = shape.num_layers * shape.hidden + shape.layer_activation_elements
    else:
        elements = shape.num_layers * shape.layer_activation_elements
    head = (
        learner.head_chunk_tokens * shape.vocabulary * _FP32 / _GIB
        if learner.head_chunk_tokens
        else learner.head_chunk_mib / 1024
    )
    parts = {
        _MASTERS: _TRAINED_BYTES * shape.parameters / ranks / _GIB,
        # twice: the gathered weights, and their gradients before they are scattered
        "embedding and two layers, whole": 2 * width * whole / _GIB,
        f"activations of {tokens} tokens": width * tokens * elements / _GIB,
        "logits": _HEAD_BLOCKS * head,
        "runtime": _RUNTIME_GIB,
    }
    if isinstance(config, RlConfig) and config.algorithm.kl_coef:
        parts["reference model"] = width * (shape.parameters / ranks + whole) / _GIB
    return parts


def _engine_rows(
    config: TrainingConfig, shape: ModelShape, gpu_gib: float
) -> list[tuple[str, str]]:
    rollout, width = config.rollout, _DTYPE_BYTES[config.model.dtype]
    share = rollout.gpu_memory_utilization or _OWN_SHARE
    size = rollout.tensor_parallel_size
    weights = width * shape.parameters / size / _GIB
    per_token = width * shape.cache_elements / size / _GIB
    left = share * gpu_gib - weights - _RUNTIME_GIB
    tokens = max(0, int(left / per_token))
    full = tokens / (rollout.max_model_len or rollout.max_completion_tokens)
    return [
        (f"engine: weights on each of {size} GPUs", f"{weights:.1f} GiB"),
        (f"engine: cache at {share:.0%} of {gpu_gib:.0f} GiB", f"{tokens:,} tokens"),
        ("engine: sequences of full length at once", f"{full:.1f}"),
    ]
