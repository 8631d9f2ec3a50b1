"""Sample files."""

import json
from pathlib import Path

from fake_runs import make_groups

from mgpo.tracking.samples import drop_samples_after, read_samples, samples_path, write_samples


def test_samples_come_back_as_written(tmp_path: Path) -> None:
    path = samples_path(tmp_path, 12)
    write_samples(path, make_groups(("four", "five")))
    assert path.name == "step_000012.jsonl.zst"
    samples = list(read_samples(path))
    assert [(row["prompt_id"], row["sample_index"]) for row in samples] == [
        ("prompt-0", 0),
        ("prompt-0", 1),
        ("prompt-1", 0),
        ("prompt-1", 1),
    ]
    assert samples[1] == {
        "prompt_id": "prompt-0",
        "sample_index": 1,
        "prompt": [{"role": "user", "content": "2+2?"}],
        "completion": "five",
        "completion_tokens": 3,
        "finish_reason": "stop",
        "policy_version": 7,
        "outcome": "wrong",
        "reason": "mismatch",
        "detail": {"extracted": "five", "gap": None},
        "reference": "4",
        "value": 0.0,
        "reward": 0.0,
        "length_shift": 0.0,
        "overlong_shift": 0.0,
        "advantage": -0.5,
        "group_accuracy": 0.5,
        "mgpo_weight": 1.0,
    }


def test_text_of_any_kind_survives(tmp_path: Path) -> None:
    texts = ("line\u2028separator\x85next\x0cpage\r\n", "cut \ud83d", "\u6570\u5b66 \x00", "")
    write_samples(tmp_path / "samples", make_groups(texts))
    assert [row["completion"] for row in read_samples(tmp_path / "samples")] == [*texts, *texts]


def test_samples_of_steps_that_run_again_are_removed(tmp_path: Path) -> None:
    for step in (9, 10, 11, 100):
        write_samples(samples_path(tmp_path, step), make_groups())
    drop_samples_after(tmp_path, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step_000009.jsonl.zst",
        "step_000010.jsonl.zst",
    ]


def test_step_without_a_group_with_samples_reads_as_empty(tmp_path: Path) -> None:
    write_samples(tmp_path / "samples", [])
    assert json.dumps(list(read_samples(tmp_path / "samples"))) == "[]"
