"""Digest of a tensor's bytes: equal bytes, equal digest, on learner and engine."""

import torch
import xxhash


def tensor_digest(tensor: torch.Tensor) -> str:
    """Return the xxh3_128 hex digest of a tensor's contiguous bytes."""
    flat = tensor.detach().contiguous().cpu().reshape(-1)
    return xxhash.xxh3_128_hexdigest(flat.view(torch.uint8).numpy().data)
