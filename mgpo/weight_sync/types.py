"""How a push of weights describes itself. Standard library only."""

from dataclasses import dataclass


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


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadReport:
    """What an engine holds after it took weights."""

    policy_version: int
    digests: dict[str, str]
