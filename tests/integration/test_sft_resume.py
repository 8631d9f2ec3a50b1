"""Supervised fine-tuning that was stopped and resumed ends as the undisturbed run, to the bit."""

import shutil
from collections import Counter

import pytest
from command_runs import Runs, make_sft_experiment
from transformers import AutoModelForCausalLM, AutoTokenizer

pytestmark = [pytest.mark.ray, pytest.mark.slow]

RANKS = {"one": "learner.num_ranks=1", "two": "learner.num_ranks=2"}


@pytest.fixture(scope="module")
def sft_runs(tmp_path_factory):
    """Undisturbed runs of one and of two ranks, by the name of their number."""
    folder = tmp_path_factory.mktemp("sft_runs")
    runs = Runs(folder, make_sft_experiment(folder), stage="sft")
    for name, ranks in RANKS.items():
        assert runs.run(name, ranks) == 0, runs.log(name)
    return runs


def exports(runs, name):
    """The weights of each exported model."""
    return {
        path.name: (path / "model.safetensors").read_bytes()
        for path in (runs.folder / name / "exports").iterdir()
    }


def test_epochs_of_token_batches_take_every_row_three_times(sft_runs):
    metrics = [record for record in sft_runs.metrics("one") if record["step"]]
    assert len(metrics) >= 10
    assert sum(record["learner/samples"] for record in metrics) == 3 * 30
    assert max(record["learner/tokens"] for record in metrics) <= 700
    assert metrics[-1]["sft/epochs"] == 3.0
    assert metrics[-1]["learner/lr"] == 1e-5
    assert f"30 rows, 3.00 epochs: {len(metrics)} steps of" in sft_runs.log("one")


@pytest.mark.parametrize("number", RANKS)
def test_a_stopped_and_resumed_run_equals_the_whole(sft_runs, number):
    name = f"halves_{number}"
    sft_runs.interrupt_after("step 5/", name, RANKS[number])
    stopped = [record["step"] for record in sft_runs.metrics(name)]
    assert 5 <= stopped[-1] < len(sft_runs.metrics(number)) - 1
    assert sft_runs.run(name, RANKS[number], "run.resume=must") == 0, sft_runs.log(name)
    assert sft_runs.metrics(name) == sft_runs.metrics(number)
    assert sft_runs.final_weights(name) == sft_runs.final_weights(number)
    assert exports(sft_runs, name) == exports(sft_runs, number)


def test_two_ranks_have_the_loss_curve_of_one(sft_runs):
    curves = [
        [record[key] for record in sft_runs.metrics(name) if record["step"]]
        for key in ("loss/sft", "learner/grad_norm")
        for name in RANKS
    ]
    assert curves[0] == pytest.approx(curves[1], rel=1e-4)
    assert curves[2] == pytest.approx(curves[3], rel=1e-4)
    assert curves[0][-1] < curves[0][0]


def test_every_export_is_a_model_of_its_own(sft_runs):
    written = exports(sft_runs, "one")
    assert sorted(written) == ["step_000004", "step_000008", "step_000012"]
    assert written["step_000012"] == sft_runs.final_weights("one")
    assert Counter(written.values()).most_common(1)[0][1] == 1
    for name in written:
        folder = sft_runs.folder / "one" / "exports" / name
        assert AutoModelForCausalLM.from_pretrained(folder).num_parameters() > 0
        assert AutoTokenizer.from_pretrained(folder).chat_template


def test_more_epochs_than_a_checkpoint_began_with_are_refused(sft_runs):
    """The last step of three epochs was cut short, where four epochs go on."""
    shutil.copytree(sft_runs.folder / "one", sft_runs.folder / "longer")
    assert sft_runs.run("longer", "epochs=4") == 2
    assert "rows would be left out or taken again" in sft_runs.log("longer")
