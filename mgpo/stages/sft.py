"""Supervised fine-tuning on prompts with a worked response; held-out accuracy is measured by
sampling."""

from dataclasses import replace

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.stages import SftConfig
from mgpo.data.inputs import StageInputs, load_inputs
from mgpo.learner.checkpoint import TrainState, publish_folder
from mgpo.learner.rows import TrainingRow
from mgpo.stages.assembly import StageParts, assemble
from mgpo.stages.evaluation import evaluate_if_due, evaluate_start
from mgpo.stages.summary import summarize
from mgpo.tracking.metrics import StepMetrics


def run(config: SftConfig) -> str:
    """Train to the last step or to the stopping accuracy; return the table of results."""
    inputs = load_inputs(config)
    algorithm = AlgorithmConfig(aggregation="token_mean", mismatch="none")
    total_updates = config.steps * config.learner.updates_per_batch
    with assemble(config, algorithm, inputs, total_updates) as parts:
        log = StepMetrics()
        state = _after_evaluation(config, evaluate_start(config, parts, inputs, log), log)
        if parts.state.owes_evaluation:
            parts.checkpoints.amend(state)
        try:
            while state.step < config.steps and not _is_stopped(config, state):
                log = StepMetrics()
                with parts.interruption.deferred():
                    state = _learn(config, parts, inputs, state, log)
                    state = evaluate_if_due(config, parts, inputs, state, log)
                    parts.tracker.write(state.step, log)
                    state = _after_evaluation(config, state, log)
                    parts.checkpoints.save_if_due(state, config.steps, parts.learner.save)
        except KeyboardInterrupt:
            parts.save_interrupted(state)
            raise
        publish_folder(parts.run_dir.final_dir, parts.learner.export_model)
    return summarize(parts.run_dir)


def _learn(
    config: SftConfig, parts: StageParts, inputs: StageInputs, state: TrainState, log: StepMetrics
) -> TrainState:
    examples = inputs.sft_examples(config.run.seed, state.step, config.sft.samples_per_step)
    batch = [
        [TrainingRow(token_ids=example.token_ids, prompt_len=example.prompt_len)]
        for example in examples
    ]
    parts.rollouts.sleep()
    with log.time("update"):
        log.add(parts.learner.update(batch, objective="sft", first_update=state.num_updates))
    return state.advanced(config.learner.updates_per_batch)


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
