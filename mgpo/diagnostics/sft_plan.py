"""The sizes of a supervised stage's batches that follow from its configuration and its data."""

from mgpo.config.learner import LearnerConfig
from mgpo.data.packing import plan_microbatches
from mgpo.data.sft_batches import SftBatches
from mgpo.diagnostics.tables import Line


def sft_table(batches: SftBatches, learner: LearnerConfig) -> list[Line]:
    """Return names and values of the batch table."""
    sizes = batches.sizes
    first_step = [len(example.token_ids) for example in batches.of_step(0)]
    plan = plan_microbatches(first_step, learner.max_tokens_per_microbatch, learner.num_ranks)
    lengths = [len(example.token_ids) for example in batches.rows]
    trained = sum(lengths) - sum(example.prompt_len for example in batches.rows)
    return [
        ("examples in the data", f"{len(lengths):,}"),
        ("tokens of the data", f"{sum(lengths):,}"),
        ("tokens with a loss", f"{trained:,}"),
        ("tokens of the longest example", f"{max(lengths):,}"),
        ("steps, an update each", f"{batches.num_steps:,}"),
        ("epochs over the data", f"{batches.num_epochs:.2f}"),
        ("examples of a step, fewest", f"{min(sizes[:-1], default=sizes[-1]):,}"),
        ("examples of a step, most", f"{max(sizes):,}"),
        ("examples of the last step", f"{sizes[-1]:,}"),
        ("tokens per micro-batch, at most", f"{learner.max_tokens_per_microbatch:,}"),
        ("learner ranks", f"{learner.num_ranks:,}"),
        ("micro-batches per rank, first step", f"{len(plan[0]):,}"),
    ]
