"""What gradings came to: failures told, their rate watched, metrics."""

import logging
import statistics
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewards.config import RewardConfig
from rewards.types import Outcome, ScoreRequest

logger = logging.getLogger(__name__)

_SLOW_S = 1.0


class RewardErrorRate(RuntimeError):
    """Too many gradings failed: going on would train on a distorted batch."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A request and what came of it."""

    request: ScoreRequest
    outcome: Outcome


class GradingRecord:
    """The last gradings, for the alarm, and those since the last metrics."""

    def __init__(self, config: RewardConfig) -> None:
        self._config = config
        self._shown: set[tuple[str, str]] = set()
        """Kinds of failure that were logged; timeouts always are."""
        self._recent: deque[Graded] = deque(maxlen=config.error_window)
        self._since_last: list[Graded] = []

    def add(self, graded: Sequence[Graded]) -> None:
        """Take outcomes in. Raises RewardErrorRate when too many of the last are errors."""
        self._recent.extend(graded)
        self._since_last += graded
        self._log_failures(graded)
        self._check_error_rate()

    def _log_failures(self, graded: Sequence[Graded]) -> None:
        """Name every item that was killed, and the first failure of each other kind."""
        for each in graded:
            request, outcome = each.request, each.outcome
            kind = (request.reward, outcome.reason)
            if outcome.is_valid or kind in self._shown:
                continue
            if outcome.reason != "timeout":
                self._shown.add(kind)
            logger.warning(
                "reward %s failed on %s (%s, %.1f s): %s; its sample leaves the group",
                request.reward,
                request.item_id or "an item",
                outcome.reason,
                outcome.time_s,
                outcome.detail.get("exception") or dict(outcome.detail),
            )

    def _check_error_rate(self) -> None:
        failed = [each for each in self._recent if not each.outcome.is_valid]
        rate = len(failed) / max(1, len(self._recent))
        is_enough = len(self._recent) * 4 >= self._config.error_window
        if not is_enough or rate <= self._config.max_error_rate:
            return
        reasons = ", ".join(f"{reason} x{n}" for reason, n in _reasons(failed).most_common(3))
        last = failed[-1]
        raise RewardErrorRate(
            f"{rate:.0%} of the last {len(self._recent)} gradings failed "
            f"(reward.max_error_rate is {self._config.max_error_rate:.0%}): {reasons}; "
            f"the last one: {last.request.item_id or 'an item'} by reward {last.request.reward}, "
            f"{last.outcome.reason}, {dict(last.outcome.detail)}"
        )

    def metrics(self) -> dict[str, float]:
        """Return what happened since the last call."""
        graded, self._since_last = self._since_last, []
        failed = [each for each in graded if not each.outcome.is_valid]
        times = sorted(each.outcome.time_s for each in graded) or [0.0]
        if graded:
            _tell_slowest(graded)
        return {
            "reward/error_rate": len(failed) / max(1, len(graded)),
            "reward/timeouts": float(_reasons(failed)["timeout"]),
            "time/reward_p50_s": statistics.median(times),
            "time/reward_p99_s": times[min(len(times) - 1, int(0.99 * len(times)))],
        }


def _tell_slowest(graded: Sequence[Graded]) -> None:
    slowest = max(graded, key=lambda each: each.outcome.time_s)
    logger.log(
        logging.INFO if slowest.outcome.time_s >= _SLOW_S else logging.DEBUG,
        "rewards: slowest of %d gradings: %s by reward %s, %.3f s",
        len(graded),
        slowest.request.item_id or "an item",
        slowest.request.reward,
        slowest.outcome.time_s,
    )


def _reasons(graded: Iterable[Graded]) -> Counter[str]:
    return Counter(each.outcome.reason for each in graded)
