"""Held-out accuracy of the current policy."""

from collections.abc import Sequence
from dataclasses import replace

from mgpo.algorithm.interval import mean_with_interval
from mgpo.config.errors import Interrupted
from mgpo.config.training import TrainingConfig
from mgpo.data.inputs import StageInputs
from mgpo.learner.checkpoint import TrainState
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.assembly import StageParts
from mgpo.stages.sampling import eval_requests
from mgpo.stages.scoring import score_groups
from mgpo.tracking.metrics import StepMetrics
from mgpo.types import Prompt
from rewards.service import RewardService


def evaluate_start(
    config: TrainingConfig, parts: StageParts, inputs: StageInputs, log: StepMetrics
) -> TrainState:
    """Record the held-out accuracy before the first step, or what an interrupted run owes."""
    state = parts.state
    if state.step == 0 or state.owes_evaluation:
        log.add(_measure(config, parts, inputs, state, log))
        parts.tracker.write(state.step, log)
    return replace(state, owes_evaluation=False)


def evaluate_if_due(
    config: TrainingConfig,
    parts: StageParts,
    inputs: StageInputs,
    state: TrainState,
    log: StepMetrics,
) -> TrainState:
    """Evaluate after the last step and every `eval.every` steps; an interrupted one is owed."""
    every = config.eval.every
    if state.step != parts.last_step and (every == 0 or state.step % every != 0):
        return state
    parts.push(state, log)
    try:
        with parts.interruption.allowed():
            measured = _measure(config, parts, inputs, state, log)
    except Interrupted:
        return replace(state, owes_evaluation=True)
    log.add(measured)
    return state


def _measure(
    config: TrainingConfig,
    parts: StageParts,
    inputs: StageInputs,
    state: TrainState,
    log: StepMetrics,
) -> dict[str, float]:
    if not inputs.eval_prompts:
        return {}
    with log.time("eval"):
        return evaluate(config, parts.rollouts, parts.rewards, inputs.eval_prompts, state.step)


def evaluate(
    config: TrainingConfig,
    rollouts: RolloutPool,
    rewards: RewardService,
    prompts: Sequence[Prompt],
    step: int,
) -> dict[str, float]:
    """Sample every held-out prompt and return accuracy with its 95 % interval, lengths and errors.

    The interval is over prompts: samples of one prompt are not independent.
    """
    requests = eval_requests(prompts, config.eval, config.rollout, seed=config.run.seed, step=step)
    groups = score_groups(rewards, prompts, rollouts.generate(requests))
    graded = [group for group in groups if group.samples]
    if not graded:
        raise RuntimeError("evaluation: not one completion was graded; see the reward errors above")
    accuracies = [
        sum(sample.is_correct for sample in group.samples) / len(group.samples) for group in graded
    ]
    lengths = [len(sample.completion.token_ids) for group in graded for sample in group.samples]
    truncated = [sample.completion.is_truncated for group in graded for sample in group.samples]
    accuracy, low, high = mean_with_interval(accuracies)
    # Taken here, so that the next training step counts its own work only.
    generated, _ = rollouts.metrics(), rewards.metrics()
    return {
        "eval/accuracy": accuracy,
        "eval/accuracy_low": low,
        "eval/accuracy_high": high,
        "eval/prompts": len(graded),
        "eval/samples": len(lengths),
        "eval/completion_tokens_mean": sum(lengths) / len(lengths),
        "eval/truncated_share": sum(truncated) / len(truncated),
        "eval/error_samples": sum(group.num_errors for group in groups),
        "eval/dropped_groups": generated["rollout/dropped_groups"],
        "eval/restarts": generated["rollout/restarts"],
        "eval/tokens_per_s": generated["rollout/tokens_per_s"],
    }
