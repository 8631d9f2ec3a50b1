"""Facts of a group, read from verdicts and unshaped values only."""

from collections.abc import Sequence
from statistics import fmean

from mgpo.config.errors import UserError
from mgpo.types import Group, Prompt, Sample

_PRIOR_FIELDS = ("accuracy", "accuracy_n", "accuracy_model")


def is_flat(samples: Sequence[Sample]) -> bool:
    """Whether all unshaped values are exactly equal: nothing to compare, no gradient."""
    return all(sample.value == samples[0].value for sample in samples)


def is_without_gradient(samples: Sequence[Sample]) -> bool:
    """Whether a group trains nothing: it is flat, and Long2Short has not moved it apart."""
    return is_flat(samples) and not any(sample.length_shift for sample in samples)


def group_accuracy(samples: Sequence[Sample]) -> float:
    """Return p(q): the share of correct samples, or the mean value of graded ones.

    Raises UserError if one group mixes binary and graded outcomes.
    """
    graded = [sample.outcome.is_graded for sample in samples if not sample.completion.is_truncated]
    if any(graded) and not all(graded):
        raise UserError(
            f"prompt {samples[0].prompt.id}: its reward returned both verdicts and numbers; "
            "a reward must return one kind"
        )
    if any(graded):
        return fmean(sample.value for sample in samples)
    return fmean(float(sample.is_correct) for sample in samples)


def prior_accuracy(prompt: Prompt) -> float:
    """Return the accuracy that another model reached on the prompt, measured beforehand.

    Raises UserError naming the prompt and the missing field.
    """
    for name in _PRIOR_FIELDS:
        if prompt.fields.get(name) is None:
            raise UserError(
                f"prompt {prompt.id} has no field `{name}`, which algorithm.accuracy_source=prior "
                f"needs (with {', '.join(_PRIOR_FIELDS)}); use accuracy_source=group without them"
            )
    accuracy = float(prompt.fields["accuracy"])
    if not 0 <= accuracy <= 1:
        raise UserError(f"prompt {prompt.id}: accuracy must be from 0 to 1, got {accuracy}")
    return accuracy


def group_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Return what a batch of weighed groups looks like."""
    samples = [sample for group in groups for sample in group.samples]
    metrics: dict[str, float] = {"reward/groups": len(groups)}
    if not samples:
        return metrics
    flat = [group for group in groups if group.is_flat]
    # Equal values need not mean equal verdicts, in a weighted reward: such a group is neither.
    num_right = sum(all(sample.is_correct for sample in group.samples) for group in flat)
    num_wrong = sum(not any(sample.is_correct for sample in group.samples) for group in flat)
    lengths = [len(sample.completion.token_ids) for sample in samples]
    return metrics | {
        "reward/accuracy": fmean(float(sample.is_correct) for sample in samples),
        "reward/mean": fmean(sample.reward for sample in samples),
        "reward/flat_correct_share": num_right / len(groups),
        "reward/flat_wrong_share": num_wrong / len(groups),
        "reward/mgpo_weight_mean": fmean(group.mgpo_weight or 0.0 for group in groups),
        "reward/advantage_max": max(abs(sample.advantage) for sample in samples),
        "rollout/completion_tokens_mean": fmean(lengths),
        "rollout/completion_tokens_max": max(lengths),
        "rollout/truncated_share": fmean(float(s.completion.is_truncated) for s in samples),
    }
