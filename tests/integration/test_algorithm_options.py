"""The options that a step's data or loss can have: resumed runs equal undisturbed ones, to the
bit."""

import json

import pytest
from command_runs import Runs, make_experiment

pytestmark = [pytest.mark.ray, pytest.mark.slow]

STEPS = 6
OPTIONS = (
    "algorithm.kl_coef=0.5",
    "algorithm.mismatch=geo_mask",
    "data.domain_weights={math: 3, code: 1}",
    "data.max_refill_prompts=4",
    "overlong={buffer_tokens: 60, factor: 0.5}",
    "data.eval=null",
    "rollout.group_size=2",
)


@pytest.fixture(scope="module")
def options_runs(tmp_path_factory):
    """Runs with all options on, over rows of two domains."""
    folder = tmp_path_factory.mktemp("options")
    experiment = make_experiment(folder, STEPS)
    path = folder / "train.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    domains = ("math", "code", "math")
    lines = [json.dumps(row | {"domain": domains[i % 3]}) + "\n" for i, row in enumerate(rows)]
    path.write_text("".join(lines))
    return Runs(folder, experiment)


def test_three_steps_and_three_resumed_are_six(options_runs):
    runs = options_runs
    assert runs.run("whole", *OPTIONS) == 0, runs.log("whole")
    assert runs.run("halves", *OPTIONS, "steps=3", "checkpoint.every=3") == 0
    assert runs.run("halves", *OPTIONS, "run.resume=must") == 0, runs.log("halves")
    whole = runs.metrics("whole")
    assert runs.metrics("halves") == whole
    assert runs.final_weights("halves") == runs.final_weights("whole")
    trained = [record for record in whole if record["step"] > 0]
    # The reference is where the run began, also for the resumed half.
    assert trained[0]["loss/kl_ref"] == 0.0
    assert all(record["loss/kl_ref"] > 0 for record in trained[2:])
    assert sum(record["data/refilled_groups"] for record in trained) > 0
    assert all(record["data/refill_prompts"] <= 4 for record in trained)
    assert any(record["reward/overlong_share"] > 0 for record in trained)
