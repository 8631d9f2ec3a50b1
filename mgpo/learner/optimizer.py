"""AdamW on fp32 masters, with one division of the summed gradients and a guard against bad ones."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from mgpo.config.learner import LearnerConfig

_BLOCK = 2**18
"""Elements of a weight that are read at once for a norm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateReport:
    """What one optimizer update did."""

    grad_norm: float
    """Before clipping."""
    lr: float
    is_skipped: bool
    update_to_weight_ratio: float
    """Norm of the update over the norm of the weights; 0 for a skipped one."""


class NonFiniteGradients(RuntimeError):
    """Too many consecutive updates had a NaN or infinite gradient."""


class Optimizer:
    """Divides summed gradients once, clips, steps; skips and counts non-finite gradients."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter], config: LearnerConfig) -> None:
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._config = config
        self.consecutive_skips = 0
        self.adamw = torch.optim.AdamW(
            self._parameters,
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            weight_decay=config.weight_decay,
            fused=True,
        )

    def apply_config(self) -> None:
        """Set betas and weight decay anew: a restored state brings those of its own time."""
        for group in self.adamw.param_groups:
            group["betas"] = (self._config.beta1, self._config.beta2)
            group["weight_decay"] = self._config.weight_decay

    def step(self, denominator: float, lr: float) -> UpdateReport:
        """Apply one update from the accumulated, un-normalised gradients and clear them.

        Raises NonFiniteGradients after `max_skipped_updates` consecutive skips.
        """
        grads = [p.grad for p in self._parameters if p.grad is not None]
        torch._foreach_div_(grads, denominator)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self._config.grad_clip)
        grad_norm = float(norm.full_tensor() if isinstance(norm, DTensor) else norm)
        is_skipped = not math.isfinite(grad_norm)
        ratio = 0.0
        if is_skipped:
            self.consecutive_skips += 1
        else:
            self.consecutive_skips = 0
            for group in self.adamw.param_groups:
                group["lr"] = lr
            self.adamw.step()
            ratio = self._update_to_weight_ratio(lr)
        self.adamw.zero_grad(set_to_none=True)
        if self.consecutive_skips > self._config.max_skipped_updates:
            raise NonFiniteGradients(
                f"{self.consecutive_skips} consecutive updates had a gradient norm of {grad_norm}; "
                "lower learner.lr, or raise learner.max_skipped_updates to go on"
            )
        return UpdateReport(
            grad_norm=grad_norm, lr=lr, is_skipped=is_skipped, update_to_weight_ratio=ratio
        )

    @torch.no_grad()
    def _update_to_weight_ratio(self, lr: float) -> float:
        """Norm of Adam's last step over the norm of the weights, from its moments: no copy is
        kept."""
        sums = torch.zeros(2, dtype=torch.float64, device=_local(self._parameters[0]).device)
        for parameter in self._parameters:
            if state := self.adamw.state.get(parameter):
                sums += self._squares_of(parameter, state)
        if torch.distributed.is_initialized():
            torch.distributed.all_reduce(sums)
        update_sq, weight_sq = sums.tolist()
        return lr * math.sqrt(update_sq / max(weight_sq, 1e-30))

    def _squares_of(self, parameter: torch.Tensor, state: dict[str, Any]) -> torch.Tensor:
        """Return the summed squares (2) of one weight's direction and of the weight itself.

        Block by block, which a CPU's cache holds: read from memory once instead of ten times.
        """
        step = state["step"]
        mean_correction = 1 - self._config.beta1**step
        square_correction = 1 - self._config.beta2**step
        sums = torch.zeros(2, dtype=torch.float64, device=_local(parameter).device)
        blocks = (
            _local(tensor).flatten().split(_BLOCK)
            for tensor in (state["exp_avg"], state["exp_avg_sq"], parameter)
        )
        for mean, mean_sq, weight in zip(*blocks, strict=True):
            scale = (mean_sq / square_correction).sqrt_().add_(1e-8)
            direction = (mean / mean_correction).div_(scale)
            sums[0] += torch.dot(direction, direction)
            sums[1] += torch.dot(weight, weight)
        return sums


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
