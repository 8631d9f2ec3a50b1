"""From seeds to new queries that a judge approves of."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mgpo.config.errors import ConfigError, DataError
from mgpo.config.synthesize import SynthesizeConfig
from mgpo.data.inputs import check_rewards
from mgpo.data.quality.prompts import prompt_key
from mgpo.data.rows import Row, load_rows, problem_of
from mgpo.data.sampler import sample_seed
from mgpo.data.synthesis_prompts import (
    PROBLEM_SCHEMA,
    VERDICT_SCHEMA,
    Templates,
    read_problem,
    read_verdict,
)
from mgpo.stages.synthesis.call_store import Call, CallStore

_TWO_SEEDS = "concept_composition"
VOTED_REWARD = "math"
"""The reward by which answers are put to the vote."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A rewritten seed."""

    id: str
    problem: str
    domain: str
    provenance: Mapping[str, Any]
    """Seeds, axis, writer and the hash of its template."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A query, or an answer that was to become one, that is left out."""

    id: str
    reason: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Writing:
    """One query to be written, and how it is asked for."""

    id: str
    seed: Row
    call: Call
    provenance: Mapping[str, Any]


def load_seeds(config: SynthesizeConfig) -> list[Row]:
    """Return the seeds of all sources, each of which its reward can grade by.

    Raises DataError for a seed whose reward is not `math`: new queries are labelled by a vote, and
    only answers that `math` compares can be put to it.
    """
    seeds = [row for source in config.data.sources for row in load_rows(source, config.data)]
    check_rewards(seeds, config.reward)
    places: dict[str, str] = {}
    for row in seeds:
        if row.reward != VOTED_REWARD:
            raise DataError(
                f"{row.where}, field reward: {row.reward!r}, but new queries are labelled by a "
                f"vote on answers that the reward {VOTED_REWARD!r} compares; leave such seeds out"
            )
        if places.setdefault(row.id, row.where) != row.where:
            raise DataError(f"{row.where}, field id: {row.id!r} is also that of {places[row.id]}")
    if len(seeds) < 2 and _TWO_SEEDS in config.expansion.axes:
        raise ConfigError(
            f"expansion.axes: {_TWO_SEEDS} needs at least two seeds, got {len(seeds)}"
        )
    return seeds


def plan_writing(
    config: SynthesizeConfig, templates: Templates, seeds: Sequence[Row]
) -> list[Writing]:
    """Return every query that is to be written, by seed, axis and number."""
    return [
        _writing(config, templates, seeds, place, axis, number)
        for place in range(len(seeds))
        for axis in config.expansion.axes
        for number in range(config.expansion.samples_per_prompt)
    ]


def _writing(
    config: SynthesizeConfig,
    templates: Templates,
    seeds: Sequence[Row],
    place: int,
    axis: str,
    number: int,
) -> Writing:
    seed, model = seeds[place], config.model_of(config.expansion)
    key = f"{seed.id}-{axis}-{number}"
    texts = {"problem": problem_of(seed.messages)}
    seed_ids = [seed.id]
    if axis == _TWO_SEEDS:
        other = seeds[_other(place, len(seeds), key, config.run.seed)]
        texts["other_problem"] = problem_of(other.messages)
        seed_ids.append(other.id)
    provenance = {
        "seed_ids": seed_ids,
        "axis": axis,
        "writer": model,
        "writer_template_sha256": templates.sha256(axis),
    }
    call = Call(
        model=model,
        text=templates.fill(axis, **texts),
        sampling=config.expansion,
        seed=sample_seed(config.run.seed, 0, f"{seed.id}|{axis}", number, stream="write"),
        schema=PROBLEM_SCHEMA,
    )
    return Writing(id=key, seed=seed, call=call, provenance=provenance)


def _other(place: int, count: int, key: str, seed: int) -> int:
    """Return another seed, drawn by a hash."""
    digest = hashlib.blake2b(f"{seed}|{key}".encode(), digest_size=8).digest()
    drawn = int.from_bytes(digest) % (count - 1)
    return drawn + (drawn >= place)


def read_queries(
    writings: Sequence[Writing], seeds: Sequence[Row], store: CallStore
) -> Iterator[Query | Rejected]:
    """Yield what became of each query: written, or why not. A repeated problem is left out."""
    known = {prompt_key({"prompt": problem_of(seed.messages)}): seed.id for seed in seeds}
    for writing in writings:
        answer = store.find(writing.call)
        if answer is None:
            yield Rejected(writing.id, "writer_failed")
            continue
        if answer.finish_reason == "length":
            yield Rejected(writing.id, "writer_truncated", {"tokens": answer.num_tokens})
            continue
        problem = read_problem(answer.text)
        if problem is None:
            yield Rejected(writing.id, "writer_unreadable", {"answer": answer.text[:500]})
            continue
        first = known.setdefault(prompt_key({"prompt": problem}), writing.id)
        if first != writing.id:
            yield Rejected(writing.id, "repeated", {"same_as": first, "problem": problem})
            continue
        yield Query(
            id=writing.id,
            problem=problem,
            domain=writing.seed.domain,
            provenance=writing.provenance,
        )


def judge_calls(config: SynthesizeConfig, templates: Templates, query: Query) -> list[Call]:
    """Return the calls that judge a query."""
    return [
        Call(
            model=config.model_of(config.judging),
            text=templates.fill("judge", problem=query.problem),
            sampling=config.judging,
            seed=sample_seed(config.run.seed, 0, query.id, number, stream="judge"),
            schema=VERDICT_SCHEMA,
        )
        for number in range(config.judging.samples_per_prompt)
    ]


def read_verdicts(query: Query, calls: Sequence[Call], store: CallStore) -> Query | Rejected:
    """Return the query if every verdict approves of it in all criteria, or why not."""
    faults: set[str] = set()
    for call in calls:
        answer = store.find(call)
        if answer is None:
            return Rejected(query.id, "judge_failed")
        verdict = read_verdict(answer.text) if answer.finish_reason == "stop" else None
        if verdict is None:
            detail = {"problem": query.problem, "answer": answer.text[:500]}
            return Rejected(query.id, "judge_unreadable", detail)
        faults |= {name for name, is_met in verdict.items() if not is_met}
    if faults:
        return Rejected(query.id, "judged_bad", {"not": sorted(faults), "problem": query.problem})
    return query


def teacher_calls(config: SynthesizeConfig, templates: Templates, query: Query) -> list[Call]:
    """Return the calls for a query's traces."""
    return [
        Call(
            model=config.model_of(config.teaching),
            text=templates.fill("teacher", problem=query.problem),
            sampling=config.teaching,
            seed=sample_seed(config.run.seed, 0, query.id, number, stream="teach"),
        )
        for number in range(config.teaching.samples_per_prompt)
    ]
