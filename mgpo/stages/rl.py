"""MGPO: on-policy reinforcement learning on verifiable prompts.

prompts -> rollouts -> rewards -> group accuracy, MGPO weight, advantages -> learner -> new weights
-> rollouts
"""

from mgpo.algorithm.advantages import weigh_groups
from mgpo.algorithm.control import permute_outcomes
from mgpo.algorithm.group_stats import group_metrics
from mgpo.algorithm.shaping import shape_rewards, shaping_metrics
from mgpo.config.training import RlConfig
from mgpo.data.inputs import StageInputs, load_inputs
from mgpo.learner.checkpoint import TrainState, publish_folder
from mgpo.learner.rows import rows_from_groups
from mgpo.stages.accuracy_guard import mark_fall, refuse_fallen
from mgpo.stages.assembly import StageParts, assemble
from mgpo.stages.collection import collect_groups
from mgpo.stages.evaluation import evaluate_if_due, evaluate_start
from mgpo.stages.summary import summarize
from mgpo.tracking.metrics import StepMetrics
from mgpo.types import Group


def run(config: RlConfig) -> str:
    """Train to the last step, or from the newest checkpoint on; return the table of results."""
    inputs = load_inputs(config)
    with assemble(config, config.algorithm, inputs, config.steps) as parts:
        log = StepMetrics()
        state = evaluate_start(config, parts, inputs, log)
        state = mark_fall(config.length_reward, parts.run_dir, state, log)
        if parts.state.owes_evaluation:
            parts.checkpoints.amend(state)
        refuse_fallen(config.length_reward, parts.run_dir, state)
        try:
            while state.step < config.steps:
                log = StepMetrics()
                groups = _collect(config, parts, inputs, state, log)
                with parts.interruption.deferred():
                    state = _learn(config, parts, groups, state, log)
                    state = evaluate_if_due(config, parts, inputs, state, log)
                    parts.tracker.write(state.step, log, groups)
                    state = mark_fall(config.length_reward, parts.run_dir, state, log)
                    parts.save_if_due(state)
                    refuse_fallen(config.length_reward, parts.run_dir, state)
        except KeyboardInterrupt:
            parts.save_interrupted(state)
            raise
        publish_folder(parts.run_dir.final_dir, parts.learner.export_model)
    return summarize(parts.run_dir)


def _collect(
    config: RlConfig, parts: StageParts, inputs: StageInputs, state: TrainState, log: StepMetrics
) -> list[Group]:
    """Sample a group per prompt, score it, and weigh every advantage by the group's accuracy."""
    groups = collect_groups(config, parts, inputs, state.step, log)
    if config.algorithm.permute_outcomes:
        groups = permute_outcomes(groups, config.run.seed, state.step)
    groups = shape_rewards(groups, config)
    groups = weigh_groups(groups, config.algorithm)
    log.add(group_metrics(groups))
    log.add(shaping_metrics(groups, config))
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
