"""Steps are ordered by number, and each input is there or made before."""

import pytest
from pipeline_folders import make_pipeline, write_script, write_training

from mgpo.config.errors import ConfigError
from mgpo.pipeline.steps import find_step, load_steps, maker_of, pipeline_dir


@pytest.fixture
def folder(tmp_path):
    return make_pipeline(tmp_path / "pipeline")


def test_steps_come_in_the_order_of_their_numbers(folder):
    write_script(folder / "10_last.yaml", folder / "rows.jsonl", folder / "last", "x")
    (folder / "notes.yaml").write_text("no: step")
    steps = load_steps(folder, [])
    assert [step.name for step in steps] == ["01_a", "02_b", "03_rows", "04_sft", "10_last"]
    assert maker_of(str(folder / "b.txt"), steps).name == "02_b"
    assert pipeline_dir(steps, folder) == folder / "runs" / "pipeline"


@pytest.mark.parametrize("name", ["2", "02", "b", "02_b"])
def test_a_step_is_found_by_number_title_or_both(folder, name):
    assert find_step(load_steps(folder, []), name, "--from") == 1


def test_an_override_reaches_the_steps_that_have_its_key(folder):
    steps = load_steps(folder, ["run.seed=7"])
    assert [step.overrides for step in steps] == [(), (), (), ("run.seed=7",)]
    assert steps[3].config.run.seed == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "start.txt").unlink(), "01_a.yaml: inputs.*does not exist, and no earlier"),
        (lambda f: (f / "01_a.yaml").rename(f / "09_a.yaml"), "is made by 09_a, which does not"),
        (lambda f: (f / "03_rows.yaml").rename(f / "2_c.yaml"), "number 2 is given twice"),
        (
            lambda f: write_training(
                f / "05_again.yaml", f / "runs", f / "rows.jsonl", f / "model"
            ),
            "both write to",
        ),
        (
            lambda f: write_training(
                f / "05_x.yaml", f / "elsewhere", f / "rows.jsonl", f / "model", "x"
            ),
            "need one run.dir",
        ),
        (lambda f: [p.unlink() for p in f.glob("*.yaml")], "has no steps"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(folder, change, message):
    change(folder)
    with pytest.raises(ConfigError, match=message):
        pipeline_dir(load_steps(folder, []), folder)


def test_an_override_that_no_step_has_is_refused(folder):
    with pytest.raises(ConfigError, match="no step of the pipeline has this key"):
        load_steps(folder, ["run.sead=7"])


def test_an_unknown_step_is_named_with_those_there_are(folder):
    with pytest.raises(ConfigError, match=r"--until rl: no step has that name; .*04_sft"):
        find_step(load_steps(folder, []), "rl", "--until")


@pytest.mark.parametrize(
    ("key", "source", "is_accepted"),
    [
        ("model.path", "Qwen/Qwen2.5-Coder-3B", True),
        ("model.path", "runs/a/b", False),
        ("data.train", "org/rows-v1.0@main:train", True),
        ("data.train", "elsewhere/rows.jsonl", False),
    ],
)
def test_a_name_with_dots_may_be_one_of_the_hub(folder, key, source, is_accepted):
    write_training(
        folder / "05_hub.yaml", folder / "runs", folder / "rows.jsonl", folder / "model", "hub"
    )
    section, name = key.split(".")
    text = (folder / "05_hub.yaml").read_text().splitlines()
    text = [line for line in text if not line.startswith(section)]
    (folder / "05_hub.yaml").write_text("\n".join([*text, f"{section}: {{{name}: {source}}}"]))
    if is_accepted:
        load_steps(folder, [])
        return
    with pytest.raises(ConfigError, match=r"05_hub\.yaml: .* does not exist, and no earlier"):
        load_steps(folder, [])


def test_a_link_belongs_to_the_step_that_made_it(folder):
    for name in ("sft", "probe"):
        (folder / "runs" / name).mkdir(parents=True)
    (folder / "runs" / "sft" / "final").mkdir()
    write_training(
        folder / "05_probe.yaml", folder / "runs", folder / "rows.jsonl", folder / "model", "probe"
    )
    link = folder / "runs" / "probe" / "specialist"
    link.symlink_to(folder / "runs" / "sft" / "final")
    assert maker_of(str(link), load_steps(folder, [])).name == "05_probe"


def test_an_override_may_lead_into_a_mapping(folder):
    steps = load_steps(folder, ["data.columns.prompt=question"])
    assert steps[3].config.data.columns == {"prompt": "question"}


@pytest.mark.parametrize("name", ["05_x.yml", "05-x.yaml"])
def test_a_file_that_is_almost_a_step_is_not_passed_over(folder, name):
    (folder / name).write_text("stage: sft\n")
    with pytest.raises(ConfigError, match=r"a step is named NUMBER_TITLE\.yaml"):
        load_steps(folder, [])


def test_a_step_may_not_write_into_the_folder_of_another(folder):
    write_script(folder / "05_x.yaml", folder / "rows.jsonl", folder / "runs" / "sft" / "x", "x")
    with pytest.raises(ConfigError, match=r"which lies in what .*04_sft\.yaml makes"):
        load_steps(folder, [])
