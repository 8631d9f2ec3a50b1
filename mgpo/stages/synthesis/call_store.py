"""Answers of models, each on disk under a hash of what was asked, and what they have cost."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from mgpo.config.errors import UserError
from mgpo.config.sampling import SamplingConfig
from mgpo.config.synthesize import PricedServerConfig
from mgpo.rollout.chat_client import ChatAnswer
from mgpo.tracking.files import write_atomically
from mgpo.tracking.metrics import whole_lines

_PER_MILLION = 1e-6


class BudgetReached(UserError):
    """All that may be spent is spent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One question to one model."""

    model: str
    text: str
    """The user's message."""
    sampling: SamplingConfig
    seed: int
    schema: Mapping[str, Any] | None = None
    """Of the JSON that the answer must be."""

    @property
    def key(self) -> str:
        """A hash of everything that the answer depends on."""
        sampling = self.sampling
        limits = [sampling.temperature, sampling.top_p, sampling.top_k]
        asked = [self.model, self.text, limits, sampling.max_completion_tokens, self.seed]
        return hashlib.sha256(json.dumps([*asked, self.schema]).encode()).hexdigest()[:32]


class CallStore:
    """The answers of a run, in one JSON-lines file."""

    def __init__(self, path: Path) -> None:
        """Read what is there, without the line that a killed writer left unfinished."""
        lines = whole_lines(path)
        self._answers: dict[str, ChatAnswer] = {}
        self._spent: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0.0])
        """By model: calls, prompt tokens, completion tokens, cost."""
        for line in lines:
            record = json.loads(line)
            self._take(record)
        write_atomically(path, "".join(f"{line}\n" for line in lines))
        self._file: TextIO = path.open("a", encoding="ascii")

    def __contains__(self, call: Call) -> bool:
        return call.key in self._answers

    def find(self, call: Call) -> ChatAnswer | None:
        """Return the answer to a call; None if there is none."""
        return self._answers.get(call.key)

    def add(self, call: Call, answer: ChatAnswer, server: PricedServerConfig | None) -> None:
        """Append an answer, with what it cost; it outlives this process from here on."""
        cost = 0.0
        if server is not None:
            prices = (server.input_price, server.output_price)
            cost = _PER_MILLION * (answer.prompt_tokens * prices[0] + answer.num_tokens * prices[1])
        record = {"key": call.key, "model": call.model, "cost": cost, "answer": asdict(answer)}
        self._take(record)
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def check_budget(self, budget: float | None) -> None:
        """Raise BudgetReached if as much as `budget` is spent."""
        if budget is not None and self.cost >= budget:
            raise BudgetReached(
                f"budget: {self.cost:.4f} of {budget:.4f} are spent in {len(self._answers)} calls, "
                "whose answers are kept; with a higher budget the same command continues"
            )

    @property
    def cost(self) -> float:
        """What all answers have cost, those that are no longer needed included."""
        return sum(spent[3] for spent in self._spent.values())

    def spent(self) -> dict[str, dict[str, float]]:
        """Return calls, tokens and cost by model."""
        names = ("calls", "prompt_tokens", "completion_tokens", "cost")
        return {
            model: dict(zip(names, spent, strict=True))
            for model, spent in sorted(self._spent.items())
        }

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _take(self, record: Mapping[str, Any]) -> None:
        answer = ChatAnswer(**record["answer"])
        self._answers[record["key"]] = answer
        spent = self._spent[record["model"]]
        used = (1, answer.prompt_tokens, answer.num_tokens, record["cost"])
        self._spent[record["model"]] = [old + new for old, new in zip(spent, used, strict=True)]


def distinct(calls: Iterable[Call]) -> list[Call]:
    """Return calls without those that ask the same as an earlier one."""
    return list({call.key: call for call in calls}.values())
