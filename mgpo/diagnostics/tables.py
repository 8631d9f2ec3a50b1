"""Aligned lines of names and values, and those of the learning rate."""

from collections.abc import Iterable

from mgpo.config.learner import LearnerConfig
from mgpo.learner.schedule import learning_rate

Line = tuple[str, str]
"""A name and its value."""


def format_table(lines: Iterable[Line]) -> str:
    """Return one aligned line for each."""
    return "\n".join(f"  {name:<36}{value:>12}" for name, value in lines)


def schedule_table(config: LearnerConfig, total_updates: int) -> list[Line]:
    """Return the warm-up and the learning rates that a run of so many updates passes through."""
    rates = [learning_rate(config, update, total_updates) for update in range(total_updates)]
    return [
        ("updates in all", f"{total_updates:,}"),
        ("updates of the warm-up", f"{config.warmup_updates(total_updates):,}"),
        ("learning rate, first update", f"{rates[0]:.3g}"),
        ("learning rate, highest", f"{max(rates):.3g}"),
        ("learning rate, last update", f"{rates[-1]:.3g}"),
    ]
