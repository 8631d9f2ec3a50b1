"""Shorter answers must not cost accuracy: watches a Long2Short run's held-out accuracy."""

import logging
from dataclasses import replace

from mgpo.config.errors import UserError
from mgpo.config.length_reward import LengthRewardConfig
from mgpo.learner.checkpoint import TrainState
from mgpo.tracking.metrics import StepMetrics, read_metrics
from mgpo.tracking.run_dir import RunDir

logger = logging.getLogger(__name__)

_ROUNDING = 1e-9
"""0.80 - 0.77 is a little more than 0.03 in floating point."""


def mark_fall(
    config: LengthRewardConfig, run_dir: RunDir, state: TrainState, log: StepMetrics
) -> TrainState:
    """Compare the held-out accuracy that `log` has, if any, with the run's first one.

    Where it is below that by more than the margin, warns of it, or where the run is to stop then,
    returns the state with the mark that `refuse_fallen` reads.
    """
    accuracy = log.values.get("eval/accuracy")
    fall = fall_of_accuracy(config, run_dir, accuracy)
    if fall and config.when_dropped == "stop":
        return replace(state, stop_accuracy=accuracy)
    if fall:
        logger.warning(fall)
    return state


def refuse_fallen(config: LengthRewardConfig, run_dir: RunDir, state: TrainState) -> None:
    """Raise UserError for a marked state, also one that was saved, unless the rule was changed."""
    fall = fall_of_accuracy(config, run_dir, state.stop_accuracy)
    if fall and config.when_dropped == "stop":
        raise UserError(
            f"{fall}; the state of step {state.step} is saved, and the run goes on with a higher "
            "length_reward.max_accuracy_drop or length_reward.when_dropped=warn"
        )


def fall_of_accuracy(config: LengthRewardConfig, run_dir: RunDir, accuracy: float | None) -> str:
    """Say how far the accuracy has fallen; empty if it is not too far, or was not measured."""
    if not config.lambda_ or accuracy is None:
        return ""
    records = read_metrics(run_dir.metrics_path)
    first = next((r["eval/accuracy"] for r in records if "eval/accuracy" in r), accuracy)
    if first - accuracy <= config.max_accuracy_drop + _ROUNDING:
        return ""
    return (
        f"held-out accuracy fell from {first:.1%} to {accuracy:.1%}, more than "
        f"length_reward.max_accuracy_drop={config.max_accuracy_drop:g} allows: lower "
        "length_reward.lambda_ or learner.lr, or set length_reward.all_correct=skip"
    )
