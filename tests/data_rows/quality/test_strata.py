"""Strata by quantiles and edges; draws by id, in the asked shares."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpo.config.errors import DataError
from mgpo.config.quality import StrataConfig
from mgpo.data.quality.shares import share_out
from mgpo.data.quality.strata import Stratum, assign_strata, draw_rows


def _rows(count: int, domain: str = "math") -> list[dict[str, Any]]:
    return [
        {"id": f"{domain}-{n}", "domain": domain, "response": "x" * n, "accuracy": n % 8 / 8}
        for n in range(1, count + 1)
    ]


def test_lengths_are_cut_at_the_quantiles_of_their_domain() -> None:
    rows = [*_rows(8), *({**row, "response": "y" * 1000} for row in _rows(3, "code"))]
    strata = assign_strata(rows, StrataConfig(num_lengths=4), len)
    assert [each.length for each in strata] == [0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3]
    assert assign_strata([{"id": 1}], StrataConfig(), len) == [Stratum("", -1, -1)]


def test_an_edge_of_difficulty_belongs_to_the_harder_side() -> None:
    rows = [{"accuracy": accuracy} for accuracy in (1, 0.76, 0.75, 0.5, 0.25, 0)]
    strata = assign_strata(rows, StrataConfig(), len)
    assert [each.difficulty for each in strata] == [0, 0, 1, 2, 3, 3]
    config = StrataConfig(difficulty_from="difficulty", difficulty_edges=[2, 4])
    strata = assign_strata([{"difficulty": n} for n in (1, 2, 3, 4, 5)], config, len)
    assert [each.difficulty for each in strata] == [0, 1, 1, 2, 2]
    with pytest.raises(DataError, match="row 'a', field difficulty: must be a number"):
        assign_strata([{"id": "a", "difficulty": "hard"}], config, len)


def test_a_cap_leaves_so_many_of_each_stratum_whatever_the_order() -> None:
    rows = [{"id": n, "domain": "math", "accuracy": n % 2} for n in range(40)]
    config = StrataConfig(max_rows_per_stratum=5)
    drops = draw_rows(rows, assign_strata(rows, config, len), config, 7)
    assert len(drops) == 30
    assert drops[min(drops)].reason == "not_drawn"
    even = next(drop.detail for place, drop in drops.items() if place % 2 == 0)
    assert even == {
        "domain": "math",
        "length_stratum": -1,
        "difficulty_stratum": 3,
        "drawn": 5,
        "of": 20,
    }
    kept = {rows[place]["id"] for place in range(40) if place not in drops}
    assert Counter(number % 2 for number in kept) == {0: 5, 1: 5}
    random.Random(0).shuffle(rows)
    again = draw_rows(rows, assign_strata(rows, config, len), config, 7)
    assert {rows[place]["id"] for place in range(40) if place not in again} == kept
    other = draw_rows(rows, assign_strata(rows, config, len), config, 8)
    assert {rows[place]["id"] for place in range(40) if place not in other} != kept


def test_rows_are_drawn_in_the_given_shares() -> None:
    rows = [{"id": n, "domain": "math", "accuracy": n % 2} for n in range(200)]
    config = StrataConfig(num_rows=40, difficulty_shares=[1, 1, 1, 3])
    drops = draw_rows(rows, assign_strata(rows, config, len), config, 0)
    assert Counter(n % 2 for n in range(200) if n not in drops) == {0: 30, 1: 10}
    equal = StrataConfig(num_rows=40)
    drops = draw_rows(rows, assign_strata(rows, equal, len), equal, 0)
    assert Counter(n % 2 for n in range(200) if n not in drops) == {0: 20, 1: 20}


def test_what_a_small_stratum_lacks_comes_from_the_others() -> None:
    assert share_out(30, {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 50, "c": 50}) == {
        "a": 2,
        "b": 14,
        "c": 14,
    }
    assert share_out(10, {"a": 1, "b": 0}, {"a": 3, "b": 50}) == {"a": 3, "b": 0}
    assert share_out(10, {"a": 1, "b": 1, "c": 1}, {"a": 9, "b": 9, "c": 9}) == {
        "a": 4,
        "b": 3,
        "c": 3,
    }


@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.floats(0, 10), st.integers(0, 40)), min_size=1, max_size=8),
)
def test_shares_sum_to_what_can_be_taken(total: int, parts: list[tuple[float, int]]) -> None:
    weights = {key: weight for key, (weight, _) in enumerate(parts)}
    most = {key: size for key, (_, size) in enumerate(parts)}
    shares = share_out(total, weights, most)
    assert all(0 <= shares[key] <= most[key] for key in most)
    assert sum(shares.values()) == min(total, sum(most[key] for key in most if weights[key] > 0))


def test_rows_are_drawn_by_their_ids() -> None:
    rows = [{"response": "x"}, {"response": "y"}]
    config = StrataConfig(max_rows_per_stratum=1)
    with pytest.raises(DataError, match="field id: missing; rows are drawn by their ids"):
        draw_rows(rows, assign_strata(rows, config, len), config, 0)
