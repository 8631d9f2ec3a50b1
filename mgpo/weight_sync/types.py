"""How a push of weights describes itself. Standard library only."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorRecord:
    """One tensor inside a bucket."""

    name: str
    """Parameter name as in the model's `named_parameters()`; a tied head appears once, as the
    embedding."""
    dtype: str
    """torch dtype without its prefix, e.g. bfloat16."""
    shape: tuple[int, ...]
    offset: int
    """First byte inside the bucket."""
    num_bytes: int
    digest: str
    """xxh3_128 of the tensor's bytes, as the learner computed it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """A piece of the weights: one file in shared memory."""

    path: str
    tensors: tuple[TensorRecord, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightManifest:
    """All weights of one policy version."""

    policy_version: int
    buckets: tuple[Bucket, ...]

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each tensor by name."""
        return {tensor.name: tensor.digest for bucket in self.buckets for tensor in bucket.tensors}

    def to_json(self) -> str:
        """Serialize, for processes that speak another protocol than ours."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Undo `to_json`."""
        fields = json.loads(text)
        buckets = tuple(
            Bucket(path=bucket["path"], tensors=tuple(map(_record, bucket["tensors"])))
            for bucket in fields["buckets"]
        )
        return cls(policy_version=fields["policy_version"], buckets=buckets)


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeTransfer:
    """A push through vLLM's weight transfer between GPUs: by whom, to whom, in what pieces."""

    backend: Literal["nccl", "ipc"]
    """nccl between devices, ipc where a rank and an engine share each device."""
    engines: tuple[Any, ...]
    """Actor handles of the engines."""
    gpus_per_engine: int
    chunk_bytes: int
    timeout_s: float


def _record(fields: dict[str, Any]) -> TensorRecord:
    return TensorRecord(**{**fields, "shape": tuple(fields["shape"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadReport:
    """What an engine holds after it took weights."""

    policy_version: int
    digests: dict[str, str]
