"""Known-true and known-false items of a reward, graded through the path that is deployed."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rewards.registry import self_test_items
from rewards.types import Outcome, ScoreRequest

logger = logging.getLogger(__name__)

Score = Callable[[Sequence[ScoreRequest]], Sequence[Outcome]]


class SelfTestFailed(RuntimeError):
    """A reward gives wrong verdicts on its own known items."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTest:
    """How a reward did on its own known items."""

    num_items: int
    """0: it brings none, so it is not tested."""
    problem: str = ""
    """The first item with another outcome than expected, or nothing."""
    got: Outcome | None = None
    """The outcome of that item."""


def run_self_tests(names: Iterable[str], score: Score) -> None:
    """Grade the known items of each reward with `score`.

    Raises SelfTestFailed naming item, expected and got.
    """
    for name in sorted(set(names)):
        tested = self_test(name, score)
        if tested.problem:
            raise SelfTestFailed(tested.problem)
        if not tested.num_items:
            logger.warning("reward %s brings no self-test items: not tested", name)


def self_test(name: str, score: Score) -> SelfTest:
    """Grade the known items of one reward with `score`."""
    items = self_test_items(name)
    requests = [
        ScoreRequest(reward=name, response=response, reference=reference)
        for response, reference, _ in items
    ]
    outcomes = score(requests) if requests else []
    for (response, reference, expected), outcome in zip(items, outcomes, strict=True):
        if not outcome.is_valid or outcome.correct != expected:
            problem = (
                f"reward {name} fails its self-test: response {response!r}, reference "
                f"{reference!r}: expected {'correct' if expected else 'wrong'}, got "
                f"{outcome.word} ({outcome.reason}, {dict(outcome.detail)})"
            )
            return SelfTest(num_items=len(items), problem=problem, got=outcome)
    return SelfTest(num_items=len(items))
