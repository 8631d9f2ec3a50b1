"""Supervised fine-tuning on prompts with a worked response; held-out accuracy is measured by
sampling."""

import logging
from dataclasses import replace

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.training import SftConfig
from mgpo.data.inputs import load_inputs
from mgpo.data.sft_batches import SftBatches, plan_sft_batches
from mgpo.learner.checkpoint import TrainState, publish_folder
from mgpo.learner.rows import TrainingRow
from mgpo.stages.assembly import StageParts, assemble
from mgpo.stages.evaluation import evaluate_if_due, evaluate_start
from mgpo.stages.summary import summarize
from mgpo.tracking.metrics import StepMetrics

logger = logging.getLogger(__name__)


def run(config: SftConfig) -> str:
    """Train to the last step or to the stopping accuracy; return the table of results."""
    inputs = load_inputs(config)
    batches = plan_sft_batches(inputs.examples, config)
    algorithm = AlgorithmConfig(aggregation="token_mean", mismatch="none")
    with assemble(config, algorithm, inputs, batches.num_steps) as parts:
        logger.info("%s", batches.summary())
        batches.refuse_other_position(parts.state.step, parts.state.rows_taken)
        log = StepMetrics()
        state = _after_evaluation(config, evaluate_start(config, parts, inputs, log), log)
        if parts.state.owes_evaluation:
            parts.checkpoints.amend(state)
        try:
            while state.step < parts.last_step and not _is_stopped(config, state):
                log = StepMetrics()
                with parts.interruption.deferred():
                    state = _learn(parts, batches, state, log)
                    state = evaluate_if_due(config, parts, inputs, state, log)
                    parts.tracker.write(state.step, log)
                    state = _after_evaluation(config, state, log)
                    parts.save_if_due(state)
        except KeyboardInterrupt:
            parts.save_interrupted(state)
            raise
        publish_folder(parts.run_dir.final_dir, parts.learner.export_model)
    return summarize(parts.run_dir)


def _learn(
    parts: StageParts, batches: SftBatches, state: TrainState, log: StepMetrics
) -> TrainState:
    batch = [
        [TrainingRow(token_ids=example.token_ids, prompt_len=example.prompt_len)]
        for example in batches.of_step(state.step)
    ]
    parts.rollouts.sleep()
    with log.time("update"):
        log.add(parts.learner.update(batch, objective="sft", first_update=state.num_updates))
    state = state.advanced(num_updates=1)
    log.add({"sft/epochs": batches.epochs_before(state.step)})
    return replace(state, rows_taken=batches.starts[state.step])


def _after_evaluation(config: SftConfig, state: TrainState, log: StepMetrics) -> TrainState:
    """Remember the held-out accuracy if one was measured that meets the stopping rule."""
    accuracy = log.values.get("eval/accuracy")
    target = config.sft.stop_at_accuracy
    if target is None or accuracy is None or accuracy < target:
        return state
    return replace(state, stop_accuracy=accuracy)


def _is_stopped(config: SftConfig, state: TrainState) -> bool:
    """Whether the rule, as it is now, is met: a resumed run may have a higher target, or none."""
    target = config.sft.stop_at_accuracy
    reached = state.stop_accuracy
    return target is not None and reached is not None and reached >= target
