"""The weighted mean of tensors, as models are merged (VibeThinker, arXiv 2511.06221)."""

from collections.abc import Sequence

import torch


def weighted_mean(tensors: Sequence[torch.Tensor], weights: Sequence[float]) -> torch.Tensor:
    """Return sum_i w_i x_i in the tensors' own type, for weights >= 0 whose sum is 1.

    Computed in float64 as b + sum_i w_i (x_i - b), where b is the tensor of the largest weight.
    Equal tensors, and a single one of weight 1, are thereby returned bit for bit, for which
    1/3 + 1/3 + 1/3 would have to be exact. What has weight 0 is not read, not even its NaNs.
    """
    heaviest = max(range(len(weights)), key=lambda index: weights[index])
    base = tensors[heaviest]
    base_wide = base.double()
    shift = torch.zeros_like(base_wide)
    for index, (tensor, weight) in enumerate(zip(tensors, weights, strict=True)):
        if index != heaviest and weight > 0:
            shift.add_(tensor.double() - base_wide, alpha=weight)
    # Without a shift the base's own bits stay: -0.0 + 0.0 would lose its sign.
    return torch.where(shift == 0, base, (base_wide + shift).to(base.dtype))
