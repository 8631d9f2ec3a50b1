"""metrics.jsonl after crashes and resumes."""

import json
from pathlib import Path

from mgpo.tracking.jsonl import JsonlWriter
from mgpo.tracking.metrics import read_metrics


def _write(path: Path, steps: range, resumed_step: int | None, value: float = 1.0) -> None:
    writer = JsonlWriter(path, resumed_step)
    for step in steps:
        writer.write(step, {"reward/mean": value, "eval/accuracy": None})
    writer.close()


def _steps(path: Path) -> list[float]:
    return [record["step"] for record in read_metrics(path)]


def test_record_is_one_line_with_the_step_first_and_sorted_keys(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _write(path, range(3, 4), None)
    assert path.read_text() == '{"step": 3, "eval/accuracy": null, "reward/mean": 1.0}\n'


def test_resume_drops_the_steps_after_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _write(path, range(0, 9), None, value=1.0)
    _write(path, range(6, 11), resumed_step=5, value=2.0)
    assert _steps(path) == list(range(11))
    values = [record["reward/mean"] for record in read_metrics(path)]
    assert values == [1.0] * 6 + [2.0] * 5


def test_resume_leaves_the_kept_lines_untouched(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _write(path, range(0, 3), None)
    before = path.read_bytes()
    JsonlWriter(path, resumed_step=2).close()
    assert path.read_bytes() == before


def test_torn_last_line_is_dropped_and_the_next_record_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _write(path, range(0, 3), None)
    with path.open("a") as file:
        file.write('{"step": 3, "reward/me')
    assert _steps(path) == [0, 1, 2]
    _write(path, range(3, 4), resumed_step=3)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [0, 1, 2, 3]


def test_start_without_a_checkpoint_leaves_nothing_of_the_earlier_attempt(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _write(path, range(0, 3), None)
    _write(path, range(0, 2), None)
    assert _steps(path) == [0, 1]


def test_an_evaluation_made_up_for_completes_the_record_of_its_step(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    writer = JsonlWriter(path, None)
    writer.write(4, {"reward/mean": 0.5, "time/step_s": 60.0})
    writer.close()
    writer = JsonlWriter(path, resumed_step=4)
    writer.write(4, {"eval/accuracy": 0.25, "time/step_s": 5.0})
    writer.close()
    assert read_metrics(path) == [
        {"step": 4, "eval/accuracy": 0.25, "reward/mean": 0.5, "time/step_s": 60.0}
    ]
