"""What a reward says about one response. Standard library only, so that everybody can import it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ok", "error"]
ALLOW_WEAK_SANDBOX = "REWARDS_ALLOW_WEAK_SANDBOX"
"""Environment variable of a grading process: programs may run where they can read files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The verdict on one response and the value it earns.

    `status == "error"` means that no verdict exists (a fault of the grader, a missed deadline, an
    unusable
    reference): such an outcome is never a wrong answer, and its sample leaves the group.
    """

    status: Status
    correct: bool = False
    value: float = None  # type: ignore[assignment]  # resolved below
    """What it earns; not given: 1 for a right binary verdict, else 0."""
    reason: str = ""
    """Short machine-readable code: why the verdict is what it is (`no_answer`, `timeout`, ...)."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON-serialisable facts for people: the extracted answer, verdicts per test or constraint."""
    time_s: float = 0.0
    is_graded: bool = False
    """True when the reward returned a number: then p(q) reads `value` instead of `correct`."""

    def __post_init__(self) -> None:
        """Give a verdict that was made without a value what a bool would earn."""
        if self.value is None:
            earns = self.is_valid and self.correct and not self.is_graded
            object.__setattr__(self, "value", float(earns))

    @property
    def is_valid(self) -> bool:
        """Whether there is a verdict at all."""
        return self.status == "ok"

    @property
    def word(self) -> str:
        """The outcome as files and commands print it: correct, wrong or error."""
        if not self.is_valid:
            return "error"
        return "correct" if self.correct else "wrong"


def error(reason: str, **detail: Any) -> Outcome:
    """Build the outcome of a grading that failed."""
    return Outcome(status="error", reason=reason, detail=detail)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRequest:
    """One response to grade: `reward` names the grader, `fields` are the further fields of the
    row."""

    reward: str
    response: str
    reference: Any
    fields: Mapping[str, Any] = field(default_factory=dict)
    item_id: str = ""
    """Names the response in logs and errors."""
