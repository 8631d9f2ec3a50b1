"""Selection by learning potential against a slow statement of its rules."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpo.algorithm.learning_potential import (
    ScoredTrace,
    learning_potential,
    percentile,
    select_traces,
)
from mgpo.config.distillation import SelectionConfig


def make_trace(index, num_tokens=100, score=1.0, domain="math"):
    return ScoredTrace(
        key=(f"{domain}/r{index:04d}", 0), domain=domain, num_tokens=num_tokens, score=score
    )


def kept_of(traces, **settings):
    selection = select_traces(traces, SelectionConfig(**settings))
    return {trace.key for trace in traces} - selection.drops.keys()


def reasons_of(traces, **settings):
    drops = select_traces(traces, SelectionConfig(**settings)).drops
    return Counter(drop.reason for drop in drops.values())


def nearest_rank(values, percent):
    """The smallest value with at least that share of the values at or below it, by trying all."""
    return min(
        value
        for value in values
        if 100 * sum(other <= value for other in values) >= percent * len(values)
    )


def selected_slowly(traces, config):
    """The rules, one trace at a time, without a mix."""
    kept = set()
    for domain in {trace.domain for trace in traces}:
        own = [trace for trace in traces if trace.domain == domain]
        p1 = nearest_rank([trace.num_tokens for trace in own], config.short_percentile)
        left = [t for t in own if t.num_tokens >= max(p1, config.min_tokens)]
        for bucket in buckets_slowly(left, config):
            if len(bucket) < config.min_bucket_traces:
                kept |= {trace.key for trace in bucket}
                continue
            p99 = nearest_rank([trace.score for trace in bucket], config.outlier_percentile)
            rest = [trace for trace in bucket if trace.score <= p99]
            for trace in rest:
                above = sum(
                    o.score > trace.score or (o.score == trace.score and o.key < trace.key)
                    for o in rest
                )
                if above < ceil(config.kept_share * len(rest)):
                    kept.add(trace.key)
    return kept


def buckets_slowly(traces, config):
    if not traces:
        return []
    count = config.length_buckets
    lengths = [trace.num_tokens for trace in traces]
    borders = [nearest_rank(lengths, Fraction(100 * i, count)) for i in range(1, count)]
    parts = [
        [t for t in traces if sum(t.num_tokens > border for border in borders) == place]
        for place in range(count)
    ]
    while (
        len(parts) > 1
    ):  # join the first that is too small to the next, the last to the one before
        small = [i for i, part in enumerate(parts) if len(part) < config.min_bucket_traces]
        if not small:
            break
        place = min(small[0], len(parts) - 2)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


@st.composite
def _traces(draw):
    # Few values, so that lengths and scores tie.
    count = draw(st.integers(1, 60))
    return [
        make_trace(
            index,
            num_tokens=draw(st.integers(60, 90)),
            score=draw(st.integers(0, 12)) / 4,
            domain=draw(st.sampled_from(["math", "code"])),
        )
        for index in range(count)
    ]


@settings(max_examples=150, deadline=None)
@given(
    _traces(),
    st.sampled_from([1, 2, 3, 8]),
    st.sampled_from([1, 4, 6]),
    st.sampled_from([50, 90, 99]),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.sampled_from([0, 1, 20]),
)
def test_selection_equals_the_rules_stated_slowly(traces, buckets, least, outlier, share, short):
    config = SelectionConfig(
        length_buckets=buckets,
        min_bucket_traces=least,
        outlier_percentile=outlier,
        kept_share=share,
        short_percentile=short,
    )
    drops = select_traces(traces, config).drops
    assert {trace.key for trace in traces} - drops.keys() == selected_slowly(traces, config)


def test_score_is_the_mean_negative_log_likelihood():
    assert learning_potential([log(0.5), log(0.25)]) == pytest.approx(1.5 * log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [(1, 99, 1), (99, 99, 99), (100, 99, 99), (200, 99, 198), (1000, 99.9, 999), (100, 0, 1)],
)
def test_percentile_by_hand(count, percent, expected):
    assert percentile(list(range(count, 0, -1)), percent) == expected


def test_upper_half_of_each_bucket_by_hand():
    """Two lengths of four traces; the long ones score less and are compared with each other."""
    traces = [make_trace(i, 100, 10 + i) for i in range(4)]
    traces += [make_trace(10 + i, 200, 1 + i) for i in range(4)]
    kept = kept_of(traces, length_buckets=2)
    assert kept == {(f"math/r{i:04d}", 0) for i in (2, 3, 12, 13)}


def test_the_highest_hundredth_is_dropped_and_the_short_are():
    traces = [make_trace(i, 100 + i, i / 100) for i in range(200)]
    traces += [make_trace(900, 63, 1.0), make_trace(901, 64, 1.0)]
    # 202 traces: the 1st percentile is the third shortest, 100; 64 lies below it.
    assert reasons_of(traces, length_buckets=1) == {"short": 2, "outlier": 2, "low score": 99}


def test_a_domain_with_fewer_than_four_traces_keeps_them_all():
    traces = [make_trace(i, 100 + i, float(i)) for i in range(3)]
    assert kept_of(traces) == {trace.key for trace in traces}
    assert reasons_of([*traces, make_trace(4, 104, 4.0)]) == {"low score": 2}


def test_equal_scores_are_decided_by_id():
    traces = [make_trace(i) for i in (3, 1, 0, 2)]
    assert kept_of(traces) == {("math/r0000", 0), ("math/r0001", 0)}
    assert kept_of(traces[::-1]) == kept_of(traces)


def test_mix_takes_the_largest_set_of_these_shares_evenly_from_the_buckets():
    math = [make_trace(i, 100 if i < 8 else 300, float(i % 8)) for i in range(16)]
    code = [make_trace(i, 100, float(i), domain="code") for i in range(4)]
    mix = {"math": 0.6, "code": 0.4}
    kept = kept_of([*math, *code], mix=mix, kept_share=1.0, length_buckets=2)
    by_domain = Counter(key[0].split("/")[0] for key in kept)
    assert by_domain == {"math": 6, "code": 4}  # 4 of code are 0.4 of 10
    # Three of each bucket of eight, the highest.
    assert {key for key in kept if key[0].startswith("math")} == {
        (f"math/r{i:04d}", 0) for i in (5, 6, 7, 13, 14, 15)
    }


@settings(max_examples=50, deadline=None)
@given(_traces(), st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]))
def test_mix_leaves_as_many_as_the_shares_allow(traces, share):
    free = Counter(key[0].split("/")[0] for key in kept_of(traces))
    mix = {"math": share, "code": 1 - share}
    got = Counter(key[0].split("/")[0] for key in kept_of(traces, mix=mix))
    exact = {domain: Fraction(str(value)) for domain, value in mix.items()}
    total = min(free[domain] / value for domain, value in exact.items() if value)
    assert got == Counter(
        {d: floor(total * value) for d, value in exact.items() if value * total >= 1}
    )
