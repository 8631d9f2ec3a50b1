"""A run that nothing disturbs, which the runs of several test modules must equal."""

from typing import Any

import pytest
from command_runs import Runs, make_experiment

STEPS = 10


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs of one experiment of ten steps, the undisturbed one among them."""
    folder = tmp_path_factory.mktemp("runs")
    runs = Runs(folder, make_experiment(folder, STEPS))
    assert runs.run("undisturbed") == 0, runs.log("undisturbed")
    metrics = runs.metrics("undisturbed")
    assert [record["step"] for record in metrics] == list(range(STEPS + 1))
    assert any(record.get("learner/grad_norm", 0) > 0 for record in metrics)
    return runs


@pytest.fixture(scope="session")
def undisturbed(runs: Runs) -> list[dict[str, Any]]:
    """What the undisturbed run measured, step by step."""
    return runs.metrics("undisturbed")
