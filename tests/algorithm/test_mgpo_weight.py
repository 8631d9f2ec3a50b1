"""The MGPO weight against a 50-digit reference."""

import json
import math
from pathlib import Path

import pytest

from mgpo.algorithm.mgpo_weight import bernoulli_kl, mgpo_weight

ROWS = json.loads(
    (Path(__file__).parent.parent / "data" / "algorithm" / "mgpo_ref.json").read_text()
)["mgpo"]


def test_weights_equal_the_reference():
    assert len(ROWS) == 119
    for row in ROWS:
        assert bernoulli_kl(row["p"], 0.5) == pytest.approx(row["kl"], rel=1e-12, abs=1e-15)
        assert mgpo_weight(row["p"], row["gamma"]) == pytest.approx(row["w"], rel=1e-12)


def test_the_weight_peaks_at_the_target_and_ends_at_two_to_minus_gamma():
    assert mgpo_weight(0.5, 3.0) == 1.0
    assert mgpo_weight(0.0, 3.0) == mgpo_weight(1.0, 3.0) == pytest.approx(0.125, rel=1e-15)
    assert mgpo_weight(0.25, 2.0, target_accuracy=0.25) == 1.0


def test_gamma_zero_is_weight_one_exactly():
    assert all(mgpo_weight(p / 16, 0.0) == 1.0 for p in range(17))


@pytest.mark.parametrize("p", [-0.01, 1.01, math.nan])
def test_an_impossible_accuracy_is_refused(p):
    with pytest.raises(ValueError, match="from 0 to 1"):
        mgpo_weight(p, 1.0)
