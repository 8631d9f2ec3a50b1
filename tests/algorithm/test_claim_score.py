"""Reliability against a 50-digit reference, choices by hand, and whether CLR does what theory says
in simulated problems of known claim quality."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from mgpo.algorithm.claim_score import choose_cluster, cluster_scores, logprob_weight, reliability
from mgpo.algorithm.interval import difference_over_problems
from mgpo.algorithm.majority import majority

ROWS = json.loads(
    (Path(__file__).parent.parent / "data" / "algorithm" / "claim_score_ref.json").read_text()
)


def test_reliability_equals_the_reference() -> None:
    assert len(ROWS) == 30
    for row in ROWS:
        assert reliability(row["v"], row["M"]) == pytest.approx(row["r"], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([True] * 5, 1.0),
        ([True] * 4 + [False], 0.8**5),
        ([True, False], 0.5**5),  # two of five claims: the mean is over two, the exponent is five
        ([True], 1.0),
        ([False] * 5, 0.0),
        ([], 0.0),
    ],
)
def test_fewer_claims_keep_the_exponent(verdicts: list[bool], expected: float) -> None:
    assert reliability(verdicts, 5) == pytest.approx(expected, rel=1e-15)


def test_the_number_of_claims_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        reliability([], 0)


@pytest.mark.parametrize(
    ("votes", "weights", "chosen"),
    [
        ([0, 0, 0, 1], [0.1, 0.1, 0.1, 0.5], 1),  # one reliable against three that are not
        ([0, 1, 1], [0.5, 0.25, 0.25], 1),  # equal scores: the larger
        ([1, 0, 0, 1], [0.2, 0.3, 0.1, 0.2], 1),  # as many, too: the first voted for
        ([2, 1, 1, 0], [0.0] * 4, 1),  # nothing is reliable: the majority
        ([None, 3, None], [1.0, 0.0, 1.0], 3),  # without an answer there is no vote
        ([None, None], [1.0, 1.0], None),
        ([], [], None),
    ],
)
def test_the_largest_sum_wins_then_size_then_order(
    votes: list[int | None], weights: list[float], chosen: int | None
) -> None:
    assert choose_cluster(votes, weights) == chosen


def test_a_sum_does_not_depend_on_the_order_of_its_weights() -> None:
    weights = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]
    scores = cluster_scores([0, 0, 0, 1, 1, 1], weights)
    assert scores[0] == scores[1]
    assert sum(weights[:3]) != sum(weights[3:])  # a plain sum differs


def test_a_likely_trajectory_weighs_more() -> None:
    assert logprob_weight(0.0) == 1.0
    assert logprob_weight(-0.6931471805599453) == pytest.approx(0.5)


@dataclass(frozen=True)
class World:
    """Chances of answers and of claims to be found right."""

    right: float
    rival: float
    """Of the one wrong answer that is given often; the rest is spread over ten others."""
    holds_if_right: float
    holds_if_wrong: float


def play(world: World, num_problems: int, seed: int) -> tuple[list[float], list[float]]:
    """Return whether majority and CLR are right on each problem, K = 32 and M = 5."""
    rng = random.Random(seed)
    by_majority, by_claims = [], []
    for _ in range(num_problems):
        votes = [_answer(world, rng) for _ in range(32)]
        weights = []
        for vote in votes:
            chance = world.holds_if_right if vote == 0 else world.holds_if_wrong
            weights.append(reliability([rng.random() < chance for _ in range(5)], 5))
        by_majority.append(float(majority(votes) == 0))
        by_claims.append(float(choose_cluster(votes, weights) == 0))
    return by_majority, by_claims


def _answer(world: World, rng: random.Random) -> int:
    draw = rng.random()
    if draw < world.right:
        return 0
    return 1 if draw < world.right + world.rival else 2 + rng.randrange(10)


def test_clr_beats_the_majority_where_claims_of_right_solutions_hold_more_often() -> None:
    """E r is 0.70 for right and 0.19 for wrong trajectories, so the right answer's expected score
    is 32 x 0.35 x 0.70 = 7.9 against 32 x 0.45 x 0.19 = 2.8, though it has fewer votes."""
    world = World(right=0.35, rival=0.45, holds_if_right=0.9, holds_if_wrong=0.6)
    by_majority, by_claims = play(world, 1500, seed=1)
    assert sum(by_majority) / 1500 < 0.3
    assert sum(by_claims) / 1500 > 0.9
    assert difference_over_problems(by_majority, by_claims)[1] > 0.6


def no_information(right: float) -> tuple[tuple[float, float, float], float]:
    """Return the gain with its interval, and CLR's share, where r is noise that is independent of
    the answer."""
    world = World(right=right, rival=0.8 - right, holds_if_right=0.7, holds_if_wrong=0.7)
    by_majority, by_claims = play(world, 1500, seed=2)
    return difference_over_problems(by_majority, by_claims), sum(by_claims) / 1500


def test_claims_without_information_only_blur_the_vote() -> None:
    """Sums of such r follow the votes, less surely: what the vote favours loses some of its edge,
    and where it favours neither answer nothing is gained."""
    gain, _ = no_information(right=0.45)
    assert gain[2] < 0.0
    gain, _ = no_information(right=0.4)
    assert gain[1] < 0.0 < gain[2]
    _, share = no_information(right=0.35)
    assert share < 0.4


def test_clr_loses_where_wrong_solutions_sound_better() -> None:
    world = World(right=0.45, rival=0.35, holds_if_right=0.6, holds_if_wrong=0.9)
    by_majority, by_claims = play(world, 1000, seed=3)
    assert difference_over_problems(by_majority, by_claims)[2] < -0.4
