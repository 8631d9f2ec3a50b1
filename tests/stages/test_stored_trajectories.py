"""The samples of an evaluation as trajectories: which of them each repeat takes, and what is
refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mgpo.config.clr import ClrConfig
from mgpo.config.errors import UserError
from mgpo.config.run import RunConfig
from mgpo.data.benchmark import problems_digest
from mgpo.data.rows import Row
from mgpo.stages.claims.trajectories import StoredTrajectories
from mgpo.tracking.result_files import ResultFiles
from mgpo.tracking.sample_store import UNGRADED, SampleStore, StoredSample

COUNT = 5


def make_rows() -> list[Row]:
    return [
        Row(
            id=name,
            messages=({"role": "user", "content": name},),
            domain="math",
            reward="math",
            reference="1",
            fields={},
            where=name,
        )
        for name in ("a", "b")
    ]


def evaluate(folder: Path, rows: Sequence[Row], missing: Sequence[tuple[str, int]] = ()) -> Path:
    """Write what a finished evaluation leaves."""
    files = ResultFiles(folder)
    files.samples("sums").parent.mkdir(parents=True)
    store = SampleStore(files.samples("sums"))
    store.add(
        StoredSample(
            prompt_id=row.id,
            sample_index=index,
            text=f"{row.id}{index}",
            num_tokens=1,
            finish_reason="stop",
            mean_logprob=None,
            outcome=UNGRADED,
        )
        for row in rows
        for index in range(COUNT)
        if (row.id, index) not in missing
    )
    store.close()
    facts = {"problems_sha256": problems_digest(rows), "sampling": {"samples_per_prompt": COUNT}}
    files.write_manifest({"benchmarks": {"sums": facts}})
    files.results_path.write_text(json.dumps({"benchmarks": {"sums": {"sampling": {"seed": 7}}}}))
    return folder


def configure(**changes: Any) -> ClrConfig:
    values = {"num_trajectories": 2, "num_repeats": 3, **changes}
    return ClrConfig(run=RunConfig(name="r"), model="m", benchmarks=["sums"], **values)


def test_repeats_take_samples_in_turn_and_begin_again(tmp_path: Path) -> None:
    rows, config = make_rows(), configure()
    stored = StoredTrajectories.open(str(evaluate(tmp_path / "e", rows)))
    stored.check("sums", rows, config)
    groups = stored.read("sums", rows, config)
    assert [[each.text for each in group] for group in groups] == [
        ["a0", "a1", "a2", "a3", "a0", "a1"],
        ["b0", "b1", "b2", "b3", "b0", "b1"],
    ]
    assert stored.num_sets("sums", config) == 2
    assert stored.sampling("sums") == {"seed": 7}


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    rows = make_rows()
    stored = StoredTrajectories.open(str(evaluate(tmp_path / "e", rows)))
    with pytest.raises(UserError, match="has no benchmark other; it has sums"):
        stored.check("other", rows, configure())
    with pytest.raises(UserError, match=r"the problems of sums .* are others than those"):
        stored.check("sums", rows[:1], configure())
    with pytest.raises(UserError, match=r"has 5 samples of each problem .* num_trajectories is 6"):
        stored.check("sums", rows, configure(num_trajectories=6))
    with pytest.raises(UserError, match="is no finished evaluation"):
        StoredTrajectories.open(str(tmp_path))


def test_a_missing_sample_is_named(tmp_path: Path) -> None:
    rows = make_rows()
    stored = StoredTrajectories.open(str(evaluate(tmp_path / "e", rows, missing=[("b", 1)])))
    with pytest.raises(UserError, match=r"lacks sample \('b', 1\)"):
        stored.read("sums", rows, configure())
