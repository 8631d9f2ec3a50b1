"""Checkpoints are whole or not there."""

import json

import pytest

from mgpo.config.checkpoint import CheckpointConfig
from mgpo.learner.checkpoint import CheckpointStore, TrainState, publish_folder


def save_learner(folder):
    folder.mkdir()
    (folder / "weights").write_bytes(b"weights")


def make_store(path, **settings):
    return CheckpointStore(path, CheckpointConfig(**settings))


def test_the_newest_is_restored_with_its_state(tmp_path):
    store = make_store(tmp_path)
    state = TrainState(step=10, num_updates=20, policy_version=10)
    store.save(TrainState(step=5), save_learner)
    store.save(state, save_learner)
    loaded = []
    assert make_store(tmp_path).restore("auto", loaded.append) == state
    assert loaded == [tmp_path / "step_000010" / "learner"]


def test_only_the_last_are_kept(tmp_path):
    store = make_store(tmp_path, keep_last=2)
    for step in (1, 2, 3, 4):
        store.save(TrainState(step=step), save_learner)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_000003", "step_000004"]


def test_an_interrupted_save_leaves_the_older_one_and_is_cleared(tmp_path):
    store = make_store(tmp_path)
    store.save(TrainState(step=1), save_learner)

    def fail(folder):
        save_learner(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.save(TrainState(step=2), fail)
    assert (tmp_path / ".writing_step_000002").exists()
    restored = make_store(tmp_path).restore("must", lambda _: None)
    assert restored == TrainState(step=1)
    assert [path.name for path in tmp_path.iterdir()] == ["step_000001"]


def test_must_refuses_to_start_anew(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run\.resume is must"):
        make_store(tmp_path).restore("must", lambda _: None)
    assert make_store(tmp_path).restore("auto", lambda _: None) is None


def test_a_damaged_checkpoint_is_named(tmp_path):
    store = make_store(tmp_path)
    store.save(TrainState(step=1), save_learner)
    (tmp_path / "step_000001" / "learner" / "weights").write_bytes(b"short")
    with pytest.raises(RuntimeError, match="learner/weights should have 7 bytes"):
        store.restore("auto", lambda _: None)


def test_saving_is_due_by_interval_at_the_end_and_when_finished(tmp_path):
    store = make_store(tmp_path, every=4, keep_last=9)
    for step in range(7):
        store.save_if_due(TrainState(step=step), 6, save_learner)
    store.save_if_due(TrainState(step=3, stop_accuracy=0.5), 6, save_learner)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step_000003",
        "step_000004",
        "step_000006",
    ]
    record = json.loads((tmp_path / "step_000004" / "state.json").read_text())
    assert record["state"]["step"] == 4


def test_a_published_folder_replaces_the_older_one(tmp_path):
    target = tmp_path / "final"
    publish_folder(target, lambda folder: (folder / "a").write_text("1"))
    publish_folder(target, lambda folder: (folder / "b").write_text("2"))
    assert [path.name for path in target.iterdir()] == ["b"]
