"""Digest of a tensor's bytes: equal bytes, equal digest, on learner and engine."""

import torch
import xxhash

_BLOCK = 2**24
# Odd 64-bit constants of splitmix64 (Steele et al. 2014), as signed numbers.
_STEP, _MIX = -7046029254386353131, -4658895280553007687


def tensor_digest(tensor: torch.Tensor) -> str:
    """Return a hex digest of a tensor's contiguous bytes: xxh3_128 on a CPU.

    On a GPU it is computed there (64 bits, `device_digest`): copying gigabytes to the host after
    each step would cost more than the push itself. The two kinds never compare equal.
    """
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if flat.is_cuda:
        return device_digest(flat)
    return xxhash.xxh3_128_hexdigest(flat.numpy().data)


def device_digest(bytes_N: torch.Tensor) -> str:
    """Return a 64-bit digest of bytes (N), computed where they are.

    The sum, modulo 2^64, of a mixing function of each byte pair and its position, so that changed
    and exchanged values both show. Integer sums do not depend on their order.
    """
    if bytes_N.numel() % 2:
        bytes_N = torch.nn.functional.pad(bytes_N, (0, 1))
    pairs_M = bytes_N.view(torch.int16)
    total = torch.zeros((), dtype=torch.int64, device=bytes_N.device)
    for first in range(0, pairs_M.numel(), _BLOCK):
        block = pairs_M[first : first + _BLOCK].to(torch.int64)
        position = torch.arange(first, first + block.numel(), device=block.device)
        mixed = (block + position * 65537) * _STEP
        mixed ^= mixed >> 29
        mixed *= _MIX
        mixed ^= mixed >> 32
        total += mixed.sum()
    return f"{int(total.item()) % 2**64:016x}"
