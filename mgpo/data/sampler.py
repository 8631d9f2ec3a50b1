"""Order of the prompts and seeds of the samples: pure functions of the run's seed and the step."""

import hashlib
import random
from array import array
from functools import lru_cache


def prompt_indices(
    num_rows: int, prompts_per_step: int, seed: int, step: int, *, stream: str = "epoch"
) -> list[int]:
    """Return the rows of a step: a slice of the endless sequence of shuffled epochs.

    A step may cross the border of two epochs; only there can a row come twice within one step
    (or where a step takes more rows than there are). Each `stream` has an order of its own.
    """
    first = step * prompts_per_step
    return sequence_part(num_rows, first, first + prompts_per_step, stream=f"{stream}|{seed}")


def sequence_part(num_rows: int, first: int, end: int, *, stream: str) -> list[int]:
    """Return the rows at positions `first` to `end` (excluded) of a stream's shuffled epochs."""
    result = []
    for position in range(first, end):
        epoch, offset = divmod(position, num_rows)
        result.append(_epoch_order(num_rows, f"{stream}|{epoch}")[offset])
    return result


@lru_cache(maxsize=16)  # a step sees at most two epochs of a stream, most steps that of the last
def _epoch_order(num_rows: int, key: str) -> "array[int]":
    """Shuffle (Fisher-Yates) with `random()` alone, which Python keeps stable over versions."""
    rng = random.Random(_hash63(key))
    order = array("q", range(num_rows))
    for index in range(num_rows - 1, 0, -1):
        other = int(rng.random() * (index + 1))
        order[index], order[other] = order[other], order[index]
    return order


def sample_seed(run_seed: int, step: int, prompt_id: str, sample_index: int, *, stream: str) -> int:
    """Return the 63-bit seed of one completion; `stream` keeps training and evaluation apart."""
    return _hash63(f"{stream}|{run_seed}|{step}|{prompt_id}|{sample_index}")


def _hash63(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) >> 1
