"""Comparing evaluations some of whose problems have no verdict."""

import json
from pathlib import Path

import pytest

from mgpo.config.errors import UserError
from mgpo.stages import evaluation_compare
from mgpo.tracking.result_files import ResultFiles, write_rows


def write_result(folder: Path, accuracies: dict[str, float]) -> Path:
    files = ResultFiles(folder)
    facts = {"problems_sha256": "0" * 64, "num_problems": 4, "sampling": {}}
    write_rows(
        files.problems("sums"), [{"id": key, "accuracy": own} for key, own in accuracies.items()]
    )
    files.write_manifest({"benchmarks": {"sums": facts}})
    mean = sum(accuracies.values()) / len(accuracies)
    figures = {"title": "Sums", "pass@1": {"mean": mean, "low": 0.0, "high": 1.0}}
    files.results_path.write_text(json.dumps({"benchmarks": {"sums": figures}}))
    return folder


def test_both_columns_and_the_difference_are_over_the_same_problems(tmp_path: Path) -> None:
    a = write_result(tmp_path / "a", {"p": 0.0, "q": 0.5, "r": 1.0, "s": 1.0})
    b = write_result(tmp_path / "b", {"p": 0.5, "q": 0.5})
    table = evaluation_compare.run(a, b)
    [line] = [each for each in table.splitlines() if each.startswith("Sums")]
    cells = line.split()
    assert cells[1] == "2"
    assert " 25.0 (" in line  # of p and q, not 62.5 of all four
    assert " 50.0 (" in line
    assert "+25.0 (" in line
    assert "sums: 2 of 4 problems are left out, without a verdict in A or B" in table


def test_without_a_common_problem_there_is_no_comparison(tmp_path: Path) -> None:
    a = write_result(tmp_path / "a", {"p": 0.0})
    b = write_result(tmp_path / "b", {"q": 0.5})
    with pytest.raises(UserError, match="none of its 4 problems has a verdict in both"):
        evaluation_compare.run(a, b)
