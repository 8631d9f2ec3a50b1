"""Which examples each step of supervised training takes, and how many steps that makes.

Steps cut the endless sequence of shuffled epochs (sampler.py) into consecutive pieces of so many
rows, or of as many rows as fit into a number of tokens. A run of whole epochs ends with a smaller
piece: no row is left out or taken once more. All of it is a pure function of the run's seed and the
rows' lengths, so a resumed run goes on where it was.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mgpo.config.errors import ConfigError
from mgpo.config.training import SftConfig
from mgpo.data.chat import SftExample
from mgpo.data.sampler import sequence_part


@dataclass(frozen=True, kw_only=True, slots=True)
class SftBatches:
    """The examples in the order of training, cut into steps."""

    rows: Sequence[SftExample]
    """As the data has them."""
    seed: int
    starts: Sequence[int]
    """Rows taken before each step, and at last those of the whole run."""

    @property
    def num_steps(self) -> int:
        """Steps of the whole run."""
        return len(self.starts) - 1

    @property
    def num_epochs(self) -> float:
        """Passes over the data that the run makes."""
        return self.epochs_before(self.num_steps)

    @property
    def sizes(self) -> list[int]:
        """Rows of each step."""
        return [end - start for start, end in itertools.pairwise(self.starts)]

    def epochs_before(self, step: int) -> float:
        """Return the passes over the data that precede a step, counted from 0."""
        return self.starts[step] / len(self.rows)

    def of_step(self, step: int) -> list[SftExample]:
        """Return the examples of a step, counted from 0."""
        start, end = self.starts[step], self.starts[step + 1]
        return [self.rows[index] for index in _rows_between(len(self.rows), self.seed, start, end)]

    def refuse_other_position(self, step: int, rows_taken: int | None) -> None:
        """Raise ConfigError if a checkpoint of so many steps had taken other rows than these steps
        take; None: the checkpoint does not say."""
        if rows_taken is not None and rows_taken != self.starts[step]:
            raise ConfigError(
                f"the checkpoint of step {step} had taken {rows_taken} rows, but with this "
                f"configuration that many steps take {self.starts[step]}: rows would be left out "
                "or taken again; keep sft.samples_per_step, sft.tokens_per_step, epochs and what "
                "changes the rows' tokens as they were, or start a new run from the model"
            )

    def summary(self) -> str:
        """Say in one line what the run takes and how it ends."""
        sizes = self.sizes
        most, least = max(sizes), min(sizes[:-1], default=sizes[-1])
        usual = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        repeats = ", more than there are: a step repeats rows" if most > len(self.rows) else ""
        return (
            f"{len(self.rows):,} rows, {self.num_epochs:.2f} epochs: {self.num_steps:,} steps of "
            f"{usual} rows{repeats}; the last takes {sizes[-1]:,}"
        )


def plan_sft_batches(rows: Sequence[SftExample], config: SftConfig) -> SftBatches:
    """Cut the order of the rows into the steps of a stage.

    Raises ConfigError if a row has more tokens than a step may take.
    """
    seed, per_step = config.run.seed, config.sft.rows_per_step
    if per_step is None:
        return SftBatches(rows=rows, seed=seed, starts=_starts_by_tokens(rows, config))
    if config.epochs is not None:
        total = config.epochs * len(rows)
    else:
        assert config.steps is not None
        total = config.steps * per_step
    return SftBatches(rows=rows, seed=seed, starts=[*range(0, total, per_step), total])


def _starts_by_tokens(rows: Sequence[SftExample], config: SftConfig) -> list[int]:
    budget = config.sft.tokens_per_step
    assert budget is not None
    longest = max(rows, key=lambda row: len(row.token_ids))
    if len(longest.token_ids) > budget:
        raise ConfigError(
            f"sft.tokens_per_step={budget} is too small: row {longest.id} has "
            f"{len(longest.token_ids)} tokens; raise it to at least that or remove the row"
        )
    starts, filled = [0], 0
    for position, length in enumerate(_lengths_in_order(rows, config)):
        if filled + length > budget:
            starts.append(position)
            filled = 0
            if len(starts) - 1 == config.steps:
                return starts
        filled += length
    assert config.epochs is not None
    return [*starts, config.epochs * len(rows)]


def _lengths_in_order(rows: Sequence[SftExample], config: SftConfig) -> Iterator[int]:
    """Yield the rows' tokens in the order of training, without end under `steps`."""
    for epoch in itertools.count() if config.epochs is None else range(config.epochs):
        start = epoch * len(rows)
        for index in _rows_between(len(rows), config.run.seed, start, start + len(rows)):
            yield len(rows[index].token_ids)


def _rows_between(num_rows: int, seed: int, start: int, end: int) -> list[int]:
    """Return the rows at positions `start` to `end` (excluded) of the shuffled epochs."""
    return sequence_part(num_rows, start, end, stream=f"epoch|{seed}")
