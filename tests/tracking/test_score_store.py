"""Scores outlive the process that computed them, all but a line that it left unfinished."""

import pytest

from mgpo.tracking.score_store import ScoreStore


def test_scores_come_back_to_the_bit_without_the_cut_line(tmp_path):
    path = tmp_path / "scores.jsonl"
    store = ScoreStore(path)
    store.add({("math/a", 0, "d"): 0.1 + 0.2, ("math/a", 1, "d"): 1e-17})
    store.add({("math/b", 0, "d"): 2.5, ("math/a", 0, "d"): 9.0})
    store.close()
    path.write_text(path.read_text()[:-5])
    again = ScoreStore(path)
    assert again["math/a", 0, "d"] == 0.1 + 0.2  # the first one counts
    assert again["math/a", 1, "d"] == 1e-17
    assert ("math/b", 0, "d") not in again
    assert ("math/a", 0, "other text") not in again
    again.add({("math/b", 0, "d"): 2.5})
    again.close()
    assert ScoreStore(path)["math/b", 0, "d"] == 2.5


def test_an_unknown_trace_has_no_score(tmp_path):
    with pytest.raises(KeyError):
        ScoreStore(tmp_path / "scores.jsonl")["math/a", 0, "d"]
