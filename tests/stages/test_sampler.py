"""Sampling without learning: what was cut goes on, and comes out as if it had not been."""

import fakes
import pytest

from mgpo.config.data import RowsConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.rollout import EngineConfig
from mgpo.config.run import RunConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.stage import SamplingStageConfig
from mgpo.data.rows import load_rows
from mgpo.stages.sampler import encode_tasks, open_grading, sample_all
from mgpo.tracking.sample_store import read_stored_samples
from rewards.config import RewardConfig

ROWS = "".join(
    f'{{"id": "r{i}", "prompt": "say {i}", "reference": "x", "reward": "REWARD"}}\n'
    for i in range(6)
)


@pytest.fixture
def make_tasks(tmp_path):
    fakes.make_model(tmp_path / "model", seed=2, head_dim=8)

    def make(reward="fake_rewards.even_length", **sampling):
        source = tmp_path / "rows.jsonl"
        source.write_text(ROWS.replace("REWARD", reward))
        settings = {"samples_per_prompt": 3, "max_completion_tokens": 20, **sampling}
        config = SamplingStageConfig(
            run=RunConfig(name="run", dir=str(tmp_path)),
            dtype="float32",
            rollout=EngineConfig(engine="hf", max_batch_samples=4),
            reward=RewardConfig(processes_per_worker=1, max_error_rate=1.0),
            sampling=SamplingConfig(**settings),
        )
        rows = load_rows(str(source), RowsConfig())
        return config, encode_tasks(config, str(tmp_path / "model"), rows)

    return make


def run(config, tasks, path):
    names = sorted({prompt.reward for prompt in tasks.prompts})
    with open_grading(config, names) as (cluster, rewards):
        return sample_all(config, cluster, rewards, tasks, path, "test")


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_what_was_cut_goes_on_with_the_same_samples(make_tasks, tmp_path):
    config, tasks = make_tasks()
    whole = run(config, tasks, tmp_path / "whole.jsonl")
    assert [[s.key for s in group] for group in whole] == [
        [(f"r{i}", k) for k in range(3)] for i in range(6)
    ]
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:7]) + lines[7][:20])
    assert [[s.text for s in group] for group in run(config, tasks, cut)] == [
        [s.text for s in group] for group in whole
    ]
    assert len(read_stored_samples(cut)) == 18


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_samples_without_a_verdict_are_graded_again_and_refused_if_too_many(make_tasks, tmp_path):
    config, tasks = make_tasks(reward="fake_graders.raising")
    path = tmp_path / "s.jsonl"
    with pytest.raises(UserError, match="of 18 samples have no verdict"):
        run(config, tasks, path)
    num_failed = sum(not sample.is_valid for sample in read_stored_samples(path))
    assert num_failed > 0  # the others were truncated, and wrong without a grading
    config, tasks = make_tasks()
    groups = run(config, tasks, path)
    assert all(sample.is_valid for group in groups for sample in group)
    assert len(path.read_text().splitlines()) == 18 + num_failed  # sampled once, graded twice


def test_a_prompt_that_leaves_no_room_is_named(make_tasks):
    with pytest.raises(ConfigError, match=r"rows.jsonl, line 1: .* exceed the context"):
        make_tasks(max_completion_tokens=100000)
