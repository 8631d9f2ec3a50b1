"""The parts of a training stage, made from their sub-configs and closed in reverse order."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Literal

from mgpo.cluster import Placement, start_cluster
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.training import TrainingConfig
from mgpo.data.inputs import StageInputs
from mgpo.learner.checkpoint import CheckpointStore, TrainState
from mgpo.learner.exports import ModelExports
from mgpo.learner.pool import LearnerPool
from mgpo.learner.setup import LearnerSetup
from mgpo.rollout.engines import ENGINES
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.fleet import find_engine, start_rollouts
from mgpo.stages.interruption import Interruption
from mgpo.stages.sampling import canary_requests
from mgpo.tracking.metrics import StepMetrics
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.tracker import Tracker
from mgpo.weight_sync.push import WeightSync
from mgpo.weight_sync.transport import NativeTransport, SharedMemoryTransport, Transport
from rewards.self_test import SelfTestFailed
from rewards.service import RewardService


@dataclass(frozen=True, kw_only=True)
class StageParts:
    """Everything a stage's loop talks to."""

    run_dir: RunDir
    rollouts: RolloutPool
    rewards: RewardService
    learner: LearnerPool
    weights: WeightSync
    checkpoints: CheckpointStore
    exports: ModelExports
    tracker: Tracker
    interruption: Interruption
    state: TrainState
    """Where the run starts: step 0, or the newest checkpoint."""
    last_step: int
    """Steps of the whole run."""

    def push(self, state: TrainState, log: StepMetrics) -> None:
        """Give the rollouts the learner's weights, unless they have this version already."""
        if self.weights.policy_version != state.policy_version:
            with log.time("push"):
                log.add(self.weights.push(state.policy_version))

    def save_if_due(self, state: TrainState) -> None:
        """Write the model and save the state, each at its own interval.

        The model first: a run killed between the two comes by its step again.
        """
        self.exports.write_if_due(state, self.learner.export_model)
        self.checkpoints.save_if_due(state, self.last_step, self.learner.save)

    def save_interrupted(self, state: TrainState) -> None:
        """Save the state of a run that was asked to stop, unless it was asked twice."""
        if not self.interruption.is_forced:
            self.checkpoints.save(state, self.learner.save)


@contextmanager
def assemble(
    config: TrainingConfig, algorithm: AlgorithmConfig, inputs: StageInputs, last_step: int
) -> Iterator[StageParts]:
    """Start the cluster and all actors, restore the newest checkpoint, push its weights.

    `last_step` is the number of steps of the whole run.
    """
    with ExitStack() as stack:
        run_dir = stack.enter_context(closing(RunDir.open(config)))
        cluster = stack.enter_context(start_cluster(config.run.device))
        engine = find_engine(config.rollout, cluster)
        is_native = engine == ENGINES["vllm"] and cluster.device == "cuda"
        placement = Placement.plan(
            cluster,
            config.learner.num_ranks,
            config.rollout.num_workers,
            config.rollout.tensor_parallel_size,
            one_host=not is_native,
        )
        interruption = stack.enter_context(Interruption())
        rewards = stack.enter_context(closing(RewardService(config.reward)))
        total_updates = last_step * config.learner.updates_per_batch
        learner = _learner(config, algorithm, inputs, total_updates, placement)
        stack.callback(learner.close)
        if placement.is_shared:  # vLLM measures a GPU's free memory, which must not change then
            learner.wait_until_loaded()
        rollouts = start_rollouts(
            config.rollout,
            engine,
            placement,
            inputs.encoder,
            config.model,
            transfer_timeout_s=config.weight_sync.timeout_s,
        )
        stack.callback(rollouts.close)
        try:
            rewards.self_test(inputs.reward_names)
        except SelfTestFailed as error:
            raise UserError(str(error)) from error
        learner.wait_until_loaded()
        rollouts.wait_until_loaded()
        canaries = canary_requests(inputs.canary_prompts, config.weight_sync, config.rollout)
        weights = WeightSync(
            config.weight_sync,
            _transport(config, run_dir, learner, placement, is_native=is_native),
            learner,
            rollouts,
            canaries,
            config.model.dtype,
        )
        stack.callback(weights.close)
        checkpoints = CheckpointStore(run_dir.checkpoints_dir, config.checkpoint)
        restored = checkpoints.restore(config.run.resume, learner.load)
        tracker = Tracker(
            run_dir, config, restored.step if restored else None, total_steps=last_step
        )
        stack.callback(tracker.close)
        state = restored or TrainState()
        if state.step > last_step:
            raise ConfigError(
                f"this is a run of {last_step} steps, but {run_dir.path} holds {state.step} "
                "finished ones; raise steps or epochs, or choose another run.name"
            )
        weights.push(state.policy_version)
        yield StageParts(
            run_dir=run_dir,
            rollouts=rollouts,
            rewards=rewards,
            learner=learner,
            weights=weights,
            checkpoints=checkpoints,
            exports=ModelExports(run_dir.exports_dir, config.checkpoint),
            tracker=tracker,
            interruption=interruption,
            state=state,
            last_step=last_step,
        )


def _learner(
    config: TrainingConfig,
    algorithm: AlgorithmConfig,
    inputs: StageInputs,
    total_updates: int,
    placement: Placement,
) -> LearnerPool:
    setup = LearnerSetup(
        learner=config.learner,
        model_source=config.model.source,
        rope=config.model.rope,
        dtype=config.model.dtype,
        algorithm=algorithm,
        vocab_size=inputs.encoder.vocab_size,
        temperature=config.rollout.temperature,
        device=placement.device,
        shares_device=placement.is_shared,
        num_threads=placement.learner_threads,
    )
    return LearnerPool(setup, total_updates, placement.learner_options)


def _transport(
    config: TrainingConfig,
    run_dir: RunDir,
    learner: LearnerPool,
    placement: Placement,
    *,
    is_native: bool,
) -> Transport:
    sync, rollout = config.weight_sync, config.rollout
    if not is_native:
        return SharedMemoryTransport(sync, learner, run_dir.path, rollout.timeout_s)
    backend: Literal["ipc", "nccl"] = "ipc" if placement.is_shared else "nccl"
    return NativeTransport(sync, learner, backend, rollout.tensor_parallel_size)
