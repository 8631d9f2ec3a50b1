"""The groups of a step: its prompts sampled and scored, flat groups refilled if the stage asks."""

from mgpo.algorithm.advantages import drop_small_groups
from mgpo.algorithm.group_stats import is_without_gradient
from mgpo.algorithm.length_reward import shape_by_length
from mgpo.config.training import RlConfig
from mgpo.data.inputs import StageInputs
from mgpo.stages.assembly import StageParts
from mgpo.stages.refill import refill_groups
from mgpo.stages.sampling import training_requests
from mgpo.stages.scoring import score_groups
from mgpo.tracking.metrics import StepMetrics
from mgpo.types import Group, Prompt


def collect_groups(
    config: RlConfig, parts: StageParts, inputs: StageInputs, step: int, log: StepMetrics
) -> list[Group]:
    """Sample a group per prompt of the step, score it, and leave out those too small to compare."""
    seed = config.run.seed
    num_dropped = num_errors = 0

    def sample(prompts: list[Prompt]) -> list[Group]:
        nonlocal num_dropped, num_errors
        requests = training_requests(prompts, config.rollout, seed=seed, step=step)
        scored = score_groups(parts.rewards, prompts, parts.rollouts.generate(requests))
        groups, num_small = drop_small_groups(scored)
        num_dropped += num_small
        num_errors += sum(group.num_errors for group in scored)
        return groups

    def teaches(group: Group) -> bool:
        (shaped,) = shape_by_length([group], config.length_reward)
        return not is_without_gradient(shaped.samples)

    with log.time("rollout"):
        groups = sample(inputs.train_prompts(seed, step))
        if config.data.max_refill_prompts:
            spares = inputs.refill_prompts(seed, step)
            groups, refill_metrics = refill_groups(groups, spares, sample, teaches)
            log.add(refill_metrics)
    log.add({"reward/dropped_groups": num_dropped, "reward/error_samples": num_errors})
    return groups
