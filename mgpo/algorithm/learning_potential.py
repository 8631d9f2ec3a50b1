"""Which traces a student learns most from (VibeThinker-3B, arXiv 2606.16140): the student's own
negative log-likelihood, compared inside buckets of domain and length. Pure lists.

A percentile here is the smallest value that has at least that share of the values at or below it,
so that at most 1 % of them lie above the 99th, however few they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, fsum
from typing import Literal

from mgpo.config.distillation import SelectionConfig

TraceKey = tuple[str, int]
"""Id of the prompt, index of the sample."""
Reason = Literal["short", "outlier", "low score", "mix"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTrace:
    """A verified trace as the selection sees it."""

    key: TraceKey
    domain: str
    num_tokens: int
    """Of the response, under the student's tokenizer."""
    score: float
    """S_LP, nats per token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """Why a trace is left out."""

    reason: Reason
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """Traces of one domain and of similar length, shortest bucket first."""

    domain: str
    traces: tuple[ScoredTrace, ...]
    outlier_above: float | None
    """Scores above are dropped; None: too few traces to tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What becomes of every trace."""

    buckets: tuple[Bucket, ...]
    drops: dict[TraceKey, Drop]
    """Every trace that is not here is kept."""


def learning_potential(logprobs: Sequence[float]) -> float:
    """Return S_LP(q, y) = -(1/|y|) sum_t ln pi_student(y_t | q, y_<t), in nats per token."""
    return -fsum(logprobs) / len(logprobs)


def percentile(values: Sequence[float], percent: float | Fraction) -> float:
    """Return the smallest value with at least `percent` % of the values at or below it."""
    rank = ceil(Fraction(str(percent)) * len(values) / 100)
    return sorted(values)[max(1, rank) - 1]


def select_traces(traces: Sequence[ScoredTrace], config: SelectionConfig) -> Selection:
    """Choose the traces to learn from.

    In each domain: short traces go; the others are bucketed by length; in each bucket, outliers go,
    and of the rest the lower scores. Then the domains are brought to their shares.
    """
    drops: dict[TraceKey, Drop] = {}
    buckets: list[Bucket] = []
    for domain in dict.fromkeys(trace.domain for trace in traces):
        own = [trace for trace in traces if trace.domain == domain]
        drops |= _short(own, config)
        left = [trace for trace in own if trace.key not in drops]
        buckets += _buckets(domain, left, config)
    for bucket in buckets:
        drops |= _drops_of(bucket, config)
    if config.mix is not None:
        drops |= _mixed(buckets, drops, config.mix)
    return Selection(buckets=tuple(buckets), drops=drops)


def _short(traces: Sequence[ScoredTrace], config: SelectionConfig) -> dict[TraceKey, Drop]:
    shortest = percentile([trace.num_tokens for trace in traces], config.short_percentile)
    drops = {}
    for trace in traces:
        if trace.num_tokens < config.min_tokens:
            limit = f"{config.min_tokens} (selection.min_tokens)"
        elif trace.num_tokens < shortest:
            limit = f"{shortest:.0f}, percentile {config.short_percentile:g} of {trace.domain}"
        else:
            continue
        drops[trace.key] = Drop(reason="short", detail=f"{trace.num_tokens} tokens, below {limit}")
    return drops


def _buckets(domain: str, traces: Sequence[ScoredTrace], config: SelectionConfig) -> list[Bucket]:
    """Divide by quantiles of length. Equal lengths share a bucket; one that is too small is joined
    to the next longer one, the longest to the one before."""
    if not traces:
        return []
    lengths = [trace.num_tokens for trace in traces]
    count = config.length_buckets
    borders = [percentile(lengths, Fraction(100 * place, count)) for place in range(1, count)]
    parts: list[list[ScoredTrace]] = [[] for _ in range(count)]
    for trace in traces:
        parts[sum(border < trace.num_tokens for border in borders)].append(trace)
    joined: list[list[ScoredTrace]] = [[]]
    for part in parts:
        if len(joined[-1]) >= config.min_bucket_traces:
            joined.append([])
        joined[-1] += part
    if len(joined) > 1 and len(joined[-1]) < config.min_bucket_traces:
        tail = joined.pop()
        joined[-1] += tail
    return [_bucket(domain, part, config) for part in joined]


def _bucket(domain: str, traces: Sequence[ScoredTrace], config: SelectionConfig) -> Bucket:
    scores = [trace.score for trace in traces]
    is_small = len(traces) < config.min_bucket_traces
    above = None if is_small else percentile(scores, config.outlier_percentile)
    return Bucket(domain=domain, traces=tuple(traces), outlier_above=above)


def _drops_of(bucket: Bucket, config: SelectionConfig) -> dict[TraceKey, Drop]:
    above = bucket.outlier_above
    if above is None:
        return {}
    percent = config.outlier_percentile
    drops = {
        trace.key: Drop(
            reason="outlier",
            detail=f"score {trace.score:.6g} above {above:.6g}, percentile {percent:g} of its "
            "bucket",
        )
        for trace in bucket.traces
        if trace.score > above
    }
    ranked = _by_score([trace for trace in bucket.traces if trace.key not in drops])
    num_kept = ceil(Fraction(str(config.kept_share)) * len(ranked))
    for place, trace in enumerate(ranked[num_kept:], start=num_kept + 1):
        drops[trace.key] = Drop(
            reason="low score",
            detail=f"score {trace.score:.6g} is number {place} of {len(ranked)} in its bucket, "
            f"{num_kept} are kept",
        )
    return drops


def _by_score(traces: Sequence[ScoredTrace]) -> list[ScoredTrace]:
    """Highest score first; of equal ones the first by id and index."""
    return sorted(traces, key=lambda trace: (-trace.score, trace.key))


def _mixed(
    buckets: Sequence[Bucket], drops: dict[TraceKey, Drop], mix: dict[str, float]
) -> dict[TraceKey, Drop]:
    """Drop what is too much of a domain, evenly over its buckets, lower scores first."""
    kept = {domain: _by_relative_rank(buckets, drops, domain) for domain in mix}
    shares = {domain: Fraction(str(share)) for domain, share in mix.items()}
    total = min(len(kept[domain]) / share for domain, share in shares.items() if share > 0)
    mixed = {}
    for domain, traces in kept.items():
        quota = floor(total * shares[domain])
        detail = f"{quota} of {len(traces)} are kept for a share of {mix[domain]:g}"
        for trace in traces[quota:]:
            mixed[trace.key] = Drop(reason="mix", detail=detail)
    return mixed


def _by_relative_rank(
    buckets: Sequence[Bucket], drops: dict[TraceKey, Drop], domain: str
) -> list[ScoredTrace]:
    """Return a domain's kept traces; those that are high in their bucket come first."""
    ranked = []
    for bucket in buckets:
        if bucket.domain == domain:
            kept = _by_score([trace for trace in bucket.traces if trace.key not in drops])
            ranked += [
                (Fraction(place, len(kept)), trace.key, trace) for place, trace in enumerate(kept)
            ]
    return [trace for _, _, trace in sorted(ranked, key=lambda entry: entry[:2])]
