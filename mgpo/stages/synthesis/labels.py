"""A query's traces become a label and worked rows, or a reason why not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgpo.algorithm.answer_vote import Majority
from mgpo.config.synthesize import TeachingConfig
from mgpo.rollout.chat_client import ChatAnswer
from mgpo.stages.synthesis.queries import Query, Rejected
from mgpo.stages.synthesis.vote import vote
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A query with the answer that most of its traces give."""

    query: Query
    reference: str
    agreement: float
    """Share of all traces asked for, those without an answer included."""
    traces: Mapping[int, str]
    """By number: the traces that give the answer."""
    provenance: Mapping[str, Any]

    def prompt_row(self) -> dict[str, Any]:
        """Return the row for reinforcement learning."""
        return {
            "id": self.query.id,
            "prompt": self.query.problem,
            "reference": self.reference,
            "domain": self.query.domain,
            "reward": "math",
            "synthesis": {**self.provenance, "agreement": round(self.agreement, 6)},
        }

    def worked_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row per trace, for supervised fine-tuning."""
        for number, text in self.traces.items():
            row = self.prompt_row()
            yield {**row, "id": f"{self.query.id}-{number}", "response": text}


def label(
    queries: Sequence[Query],
    answers: Sequence[Sequence[ChatAnswer | None]],
    provenance: Mapping[str, Any],
    config: TeachingConfig,
    rewards: RewardConfig,
) -> list[Labelled | Rejected]:
    """Return what became of each query.

    `answers` are those of the teacher, None where a call failed. A trace that was cut off has no
    vote. Reasons: no_answer, tie, low_agreement. Raises UserError.
    """
    whole = [
        {
            number: answer.text
            for number, answer in enumerate(given)
            if answer is not None and answer.finish_reason == "stop"
        }
        for given in answers
    ]
    majorities = vote([list(traces.values()) for traces in whole], rewards)
    return [
        _decide(query, traces, majority, {**query.provenance, **provenance}, config)
        for query, traces, majority in zip(queries, whole, majorities, strict=True)
    ]


def _decide(
    query: Query,
    traces: Mapping[int, str],
    majority: Majority | None,
    provenance: Mapping[str, Any],
    config: TeachingConfig,
) -> Labelled | Rejected:
    if majority is None:
        return Rejected(query.id, "no_answer", {"whole_traces": len(traces)})
    numbers = list(traces)
    agreement = len(majority.members) / config.samples_per_prompt
    detail = {"answer": majority.answer, "agreement": round(agreement, 6)}
    if majority.is_tied:
        return Rejected(query.id, "tie", detail)
    if agreement < config.min_agreement:
        return Rejected(query.id, "low_agreement", detail)
    return Labelled(
        query=query,
        reference=majority.answer,
        agreement=agreement,
        traces={numbers[place]: traces[numbers[place]] for place in majority.members},
        provenance=provenance,
    )
