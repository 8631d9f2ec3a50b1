"""Micro-batches: every sample once, within the budget, equal counts, balanced ranks."""

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from mgpo.data.packing import plan_microbatches

Case = tuple[list[int], int, int]


def _random_cases() -> Iterator[Case]:
    rng = random.Random(0)
    for _ in range(300):
        max_tokens = rng.randrange(1, 200)
        lengths = [rng.randrange(1, max_tokens + 1) for _ in range(rng.randrange(0, 60))]
        yield lengths, max_tokens, rng.randrange(1, 9)


def test_every_sample_is_in_exactly_one_microbatch() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        plan = plan_microbatches(lengths, max_tokens, num_ranks)
        indices = [index for rank in plan for microbatch in rank for index in microbatch]
        assert sorted(indices) == list(range(len(lengths)))


def test_no_microbatch_exceeds_the_budget() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        for rank in plan_microbatches(lengths, max_tokens, num_ranks):
            assert all(sum(lengths[i] for i in microbatch) <= max_tokens for microbatch in rank)


def test_all_ranks_run_the_same_number_of_microbatches() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        plan = plan_microbatches(lengths, max_tokens, num_ranks)
        assert len(plan) == num_ranks
        assert len({len(rank) for rank in plan}) == 1


def test_ranks_differ_by_at_most_the_longest_sample() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        plan = plan_microbatches(lengths, max_tokens, num_ranks)
        totals = [sum(lengths[i] for microbatch in rank for i in microbatch) for rank in plan]
        assert max(totals) - min(totals) <= max(lengths, default=0)


def test_no_two_neighbours_of_a_rank_would_fit_into_one() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        for rank in plan_microbatches(lengths, max_tokens, num_ranks):
            filled = [sum(lengths[i] for i in microbatch) for microbatch in rank if microbatch]
            pairs = pairwise(filled)
            assert all(left + right > max_tokens for left, right in pairs)


def test_samples_of_similar_length_share_a_microbatch() -> None:
    plan = plan_microbatches([10, 100, 11, 99, 12, 98], max_tokens=300, num_ranks=1)
    assert plan == [[[1, 3, 5], [4, 2, 0]]]


def test_three_samples_on_two_ranks() -> None:
    assert plan_microbatches([5, 4, 3], max_tokens=5, num_ranks=2) == [[[0], []], [[1], [2]]]


def test_a_rank_without_samples_runs_an_empty_microbatch() -> None:
    assert plan_microbatches([5], max_tokens=5, num_ranks=3) == [[[0]], [[]], [[]]]
    assert plan_microbatches([], max_tokens=5, num_ranks=2) == [[[]], [[]]]


def test_plan_is_deterministic() -> None:
    for lengths, max_tokens, num_ranks in _random_cases():
        first = plan_microbatches(lengths, max_tokens, num_ranks)
        assert first == plan_microbatches(lengths, max_tokens, num_ranks)


def test_too_long_a_sample_names_the_key_and_the_needed_number() -> None:
    with pytest.raises(ValueError, match=r"learner\.max_tokens_per_microbatch is 5.* 6 tokens"):
        plan_microbatches([3, 6], max_tokens=5, num_ranks=1)
