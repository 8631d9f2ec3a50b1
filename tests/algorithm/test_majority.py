"""maj@K against cases counted by hand."""

import pytest

from mgpo.algorithm.majority import majority, majority_share

RIGHT = [True, False]


def test_the_cluster_with_most_votes_decides() -> None:
    assert majority([1, 0, 0, 1, 0]) == 0
    assert majority_share([1, 0, 0, 1, 0], RIGHT, 5) == 1.0
    assert majority_share([1, 0, 1], RIGHT, 3) == 0.0


def test_of_equally_many_votes_the_first_wins() -> None:
    assert majority([1, 0, 0, 1]) == 1
    assert majority([None, 0, 1]) == 0


def test_samples_without_an_answer_do_not_vote() -> None:
    assert majority_share([None, None, 0], RIGHT, 3) == 1.0
    assert majority([None, None]) is None
    assert majority_share([None, None], RIGHT, 2) == 0.0


def test_smaller_k_is_the_mean_over_disjoint_runs() -> None:
    # (0, 0), (1, 1), (1, 0 -> first is 1); the seventh sample is left over.
    assert majority_share([0, 0, 1, 1, 1, 0, 0], RIGHT, 2) == pytest.approx(1 / 3)
    assert majority_share([0, 1, 0], RIGHT, 1) == pytest.approx(2 / 3)


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="maj@3 needs 1 <= k"):
        majority_share([0, 0], RIGHT, 3)
