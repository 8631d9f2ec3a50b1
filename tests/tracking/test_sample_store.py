"""Stored samples survive a killed writer and a second verdict."""

from contextlib import closing

import pytest

from mgpo.tracking.sample_store import SampleStore, StoredSample, read_stored_samples
from mgpo.types import Completion
from rewards.types import Outcome, error


def make_sample(index, outcome, text="4", prompt_id="p"):
    completion = Completion(
        token_ids=(3, 4),
        rollout_logprobs=(-0.5, -1.5),
        finish_reason="stop",
        policy_version=0,
        text=text,
    )
    return StoredSample.of((prompt_id, index), completion, outcome)


RIGHT = Outcome(status="ok", correct=True, value=1.0, detail={"extracted": "4"})


def test_a_sample_reads_back_as_it_was(tmp_path):
    text = "line\u2028separator \ud800 and\nbreak"
    with closing(SampleStore(tmp_path / "s.jsonl")) as store:
        store.add([make_sample(0, RIGHT, text)])
    assert read_stored_samples(tmp_path / "s.jsonl") == [make_sample(0, RIGHT, text)]
    assert make_sample(0, RIGHT).mean_logprob == -1.0


def test_the_line_of_a_killed_writer_is_dropped_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "s.jsonl"
    with closing(SampleStore(path)) as store:
        store.add([make_sample(0, RIGHT), make_sample(1, RIGHT)])
    path.write_bytes(path.read_bytes()[:-7])
    with closing(SampleStore(path)) as store:
        assert ("p", 0) in store
        assert ("p", 1) not in store
        store.add([make_sample(1, RIGHT)])
    assert [sample.key for sample in read_stored_samples(path)] == [("p", 0), ("p", 1)]


def test_a_second_verdict_replaces_the_first(tmp_path):
    path = tmp_path / "s.jsonl"
    with closing(SampleStore(path)) as store:
        store.add([make_sample(0, error("timeout"))])
        (failed,) = store.without_verdict()
        store.add([failed.graded(RIGHT)])
        assert not store.without_verdict()
    assert read_stored_samples(path) == [make_sample(0, RIGHT)]


def test_samples_of_a_prompt_are_in_order_and_below_the_count(tmp_path):
    with closing(SampleStore(tmp_path / "s.jsonl")) as store:
        store.add([make_sample(index, RIGHT) for index in (2, 0, 1)])
        store.add([make_sample(0, RIGHT, prompt_id="q")])
        assert [sample.sample_index for sample in store.of_prompt("p", 2)] == [0, 1]
        assert len(store) == 4


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_what_json_does_not_know_does_not_lose_the_sample(tmp_path, value):
    odd = Outcome(status="ok", detail={"odd": value})
    with closing(SampleStore(tmp_path / "s.jsonl")) as store:
        store.add([make_sample(0, odd)])
    assert len(read_stored_samples(tmp_path / "s.jsonl")) == 1
