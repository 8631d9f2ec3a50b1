"""What the rollouts did since the last step."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgpo.types import Completion


@dataclass(slots=True)
class RolloutCounters:
    """Counts between two calls of `take`."""

    tokens: int = 0
    busy_s: float = 0.0
    restarts: int = 0
    dropped_groups: int = 0
    aborted_dispatches: int = 0

    def count(self, completions: Sequence[Completion]) -> None:
        """Count the tokens of a finished group."""
        self.tokens += sum(len(completion.token_ids) for completion in completions)

    def take(self) -> dict[str, float]:
        """Return the counts as metrics and start anew."""
        metrics = {
            "rollout/tokens": float(self.tokens),
            "rollout/tokens_per_s": self.tokens / self.busy_s if self.busy_s else 0.0,
            "rollout/restarts": float(self.restarts),
            "rollout/dropped_groups": float(self.dropped_groups),
            "rollout/aborted_dispatches": float(self.aborted_dispatches),
        }
        self.tokens = self.restarts = self.dropped_groups = self.aborted_dispatches = 0
        self.busy_s = 0.0
        return metrics
