"""MGPO: on-policy reinforcement learning on verifiable prompts.

prompts -> rollouts -> rewards -> group accuracy, MGPO weight, advantages -> learner -> new weights
-> rollouts
"""

from mgpo.algorithm.advantages import drop_small_groups, weigh_groups
from mgpo.algorithm.control import permute_outcomes
from mgpo.algorithm.group_stats import group_metrics
from mgpo.config.stages import RlConfig
from mgpo.data.inputs import StageInputs, load_inputs
from mgpo.learner.checkpoint import TrainState, publish_folder
from mgpo.learner.rows import rows_from_groups
from mgpo.stages.assembly import StageParts, assemble
from mgpo.stages.evaluation import evaluate_if_due, evaluate_start
from mgpo.stages.sampling import training_requests
from mgpo.stages.scoring import score_groups
from mgpo.stages.summary import summarize
from mgpo.tracking.metrics import StepMetrics
from mgpo.types import Group


def run(config: RlConfig) -> str:
    """Train to the last step, or from the newest checkpoint on; return the table of results."""
    inputs = load_inputs(config)
    total_updates = config.steps * config.learner.updates_per_batch
    with assemble(config, config.algorithm, inputs, total_updates) as parts:
        state = evaluate_start(config, parts, inputs, StepMetrics())
        try:
            while state.step < config.steps:
                log = StepMetrics()
                groups = _collect(config, parts, inputs, state, log)
                with parts.interruption.deferred():
                    state = _learn(config, parts, groups, state, log)
                    state = evaluate_if_due(config, parts, inputs, state, log)
                    parts.tracker.write(state.step, log, groups)
                    parts.checkpoints.save_if_due(state, config.steps, parts.learner.save)
        except KeyboardInterrupt:
            parts.save_interrupted(state)
            raise
        publish_folder(parts.run_dir.final_dir, parts.learner.export_model)
    return summarize(parts.run_dir)


def _collect(
    config: RlConfig, parts: StageParts, inputs: StageInputs, state: TrainState, log: StepMetrics
) -> list[Group]:
    """Sample a group per prompt, score it, and weigh every advantage by the group's accuracy."""
    prompts = inputs.train_prompts(config.run.seed, state.step)
    requests = training_requests(prompts, config.rollout, seed=config.run.seed, step=state.step)
    with log.time("rollout"):
        groups = score_groups(parts.rewards, prompts, parts.rollouts.generate(requests))
    groups, num_dropped = drop_small_groups(groups)
    if config.algorithm.permute_outcomes:
        groups = permute_outcomes(groups, config.run.seed, state.step)
    groups = weigh_groups(groups, config.algorithm)
    log.add(group_metrics(groups))
    log.add({"reward/dropped_groups": num_dropped})
    log.add(parts.rollouts.metrics())
    log.add(parts.rewards.metrics())
    return groups


def _learn(
    config: RlConfig, parts: StageParts, groups: list[Group], state: TrainState, log: StepMetrics
) -> TrainState:
    """Update the policy from the batch and give the new weights to the rollouts."""
    rows = rows_from_groups(groups, mask_truncated=config.algorithm.mask_truncated)
    parts.rollouts.sleep()  # where engines share the learner's devices
    with log.time("update"):
        log.add(parts.learner.update(rows, objective="policy", first_update=state.num_updates))
    state = state.advanced(config.learner.updates_per_batch)
    parts.push(state, log)
    return state
