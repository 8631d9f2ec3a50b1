"""Domains by weights: shares, order, and that a step is a function of seed and number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpo.config.data import DataConfig
from mgpo.config.errors import DataError
from mgpo.data.domain_mix import check_domain_weights, domain_counts, weighted_indices
from mgpo.data.rows import Row

DOMAINS = ["math"] * 5 + ["code"] * 3 + ["stem"] * 4
WEIGHTS = {"math": 2.0, "code": 1.0, "stem": 1.0}
some_weights = st.dictionaries(
    st.sampled_from("abcdef"), st.floats(0.001, 1000), min_size=1, max_size=6
)


def draw(step: int, per_step: int = 8, seed: int = 0, stream: str = "epoch") -> list[int]:
    return weighted_indices(DOMAINS, WEIGHTS, per_step, seed, step, stream=stream)


def rows_of(*domains: str) -> list[Row]:
    return [
        Row(
            id=str(i), messages=(), domain=domain, reward="", reference="", fields={}, where=f"r{i}"
        )
        for i, domain in enumerate(domains)
    ]


@given(some_weights, st.integers(0, 10**7), st.integers(0, 300))
def test_counts_sum_up_never_fall_and_stay_near_their_share(
    weights: dict[str, float], num_prompts: int, more: int
) -> None:
    counts, later = domain_counts(num_prompts, weights), domain_counts(num_prompts + more, weights)
    assert sum(counts.values()) == num_prompts
    assert all(later[domain] >= count for domain, count in counts.items())
    whole = sum(weights.values())
    for domain, count in counts.items():
        distance = abs(count - num_prompts * weights[domain] / whole)
        assert distance < len(weights) / 2 + 1e-6


def test_each_step_has_the_shares_of_the_weights() -> None:
    for step in range(20):
        chosen = [DOMAINS[index] for index in draw(step)]
        assert {domain: chosen.count(domain) for domain in WEIGHTS} == {
            "math": 4,
            "code": 2,
            "stem": 2,
        }


@pytest.mark.parametrize("per_step", [1, 3, 8])
def test_each_row_of_a_domain_comes_once_before_one_repeats(per_step: int) -> None:
    stream = [index for step in range(120) for index in draw(step, per_step)]
    for domain in WEIGHTS:
        rows = [index for index, each in enumerate(DOMAINS) if each == domain]
        seen = [index for index in stream if index in rows]
        whole = len(seen) // len(rows) * len(rows)
        assert whole >= 2 * len(rows)
        for start in range(0, whole, len(rows)):
            assert sorted(seen[start : start + len(rows)]) == rows


def test_a_step_is_a_pure_function_of_seed_and_number() -> None:
    assert [draw(step) for step in range(9)] == [draw(step) for step in reversed(range(9))][::-1]
    assert draw(0, seed=1) != draw(0) != draw(0, stream="refill")


def test_a_domain_of_weight_zero_never_comes() -> None:
    weights = {"math": 1.0, "code": 0.0, "stem": 0.5}
    chosen = weighted_indices(DOMAINS, weights, 12, 0, 3, stream="epoch")
    assert "code" not in {DOMAINS[index] for index in chosen}
    assert len(chosen) == 12


def test_the_order_of_the_weights_in_the_file_changes_nothing() -> None:
    backwards = dict(reversed(WEIGHTS.items()))
    assert weighted_indices(DOMAINS, backwards, 7, 0, 5, stream="epoch") == draw(5, 7)


def test_a_domain_without_a_weight_and_a_weight_without_rows_are_named() -> None:
    check_domain_weights(rows_of("math", "chess"), {})
    check_domain_weights(rows_of("math"), {"math": 1.0, "code": 0.0})
    with pytest.raises(DataError, match=r"r1, field domain: .* no weight for 'chess'"):
        check_domain_weights(rows_of("math", "chess"), {"math": 1.0})
    with pytest.raises(DataError, match="no row has domain code; the data has math"):
        check_domain_weights(rows_of("math"), {"math": 1.0, "code": 1.0})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"math": -1.0}, r"data\.domain_weights\.math must be from 0 to"),
        ({"math": float("nan")}, r"data\.domain_weights\.math must be from 0 to"),
        ({"math": 0.0}, "at least one weight must be above 0"),
    ],
)
def test_impossible_weights_are_refused(weights: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataConfig(train="x", domain_weights=weights)
