"""The learning rate as a pure function of the update's number."""

import math

from mgpo.config.learner import LearnerConfig


def learning_rate(config: LearnerConfig, update: int, total_updates: int) -> float:
    """Return the rate of an update, counted from 0: linear warm-up, then the schedule.

    The last of `total_updates` updates has `min_lr` under `cosine` and `linear`, if at least one
    update comes between it and the warm-up.
    """
    warmup = config.warmup_updates(total_updates)
    if update < warmup:
        return config.lr * (update + 1) / warmup
    if config.schedule == "constant":
        return config.lr
    decay_updates = max(1, total_updates - 1 - warmup)
    progress = min(1.0, (update - warmup) / decay_updates)
    falloff = {"cosine": 0.5 * (1 + math.cos(math.pi * progress)), "linear": 1 - progress}
    return config.min_lr + (config.lr - config.min_lr) * falloff[config.schedule]
