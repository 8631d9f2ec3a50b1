"""The keys of `mgpo clr`, and what they make of a benchmark."""

from pathlib import Path
from typing import Any

import pytest

from mgpo.config.clr import ClrConfig
from mgpo.config.errors import ConfigError
from mgpo.config.load import load_config
from mgpo.data.benchmark import load_benchmarks


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    (tmp_path / "sums.yaml").write_text(
        "title: Sums\npass_at: [1, 64]\nsampling: {samples_per_prompt: 64, temperature: 0.7}\n"
    )
    path = tmp_path / "clr.yaml"
    path.write_text(
        f"stage: clr\nrun: {{name: r}}\nmodel: org/model\nbenchmarks: [{tmp_path}/sums.yaml]\n"
    )
    return path


def load(experiment: Path, *overrides: str) -> ClrConfig:
    config = load_config(experiment, overrides, "clr")
    assert isinstance(config, ClrConfig)
    return config


def test_defaults_are_the_recipes(experiment: Path) -> None:
    config = load(experiment)
    assert (config.num_trajectories, config.num_claims, config.num_repeats) == (32, 5, 8)


def test_a_benchmark_gets_as_many_samples_as_trajectories_are_needed(experiment: Path) -> None:
    config = load(experiment, "num_trajectories=3", "num_repeats=2", "sampling.top_p=0.9")
    [benchmark] = load_benchmarks(config)
    sampling = benchmark.config.sampling
    assert (sampling.samples_per_prompt, sampling.temperature, sampling.top_p) == (6, 0.7, 0.9)
    assert benchmark.config.ks == [1, 2, 4]  # K of Pass@K that the benchmark names is not asked for


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("num_trajectories=0", "num_trajectories must be at least 1, got 0"),
        ("num_claims=0", "num_claims must be at least 1, got 0"),
        ("num_repeats=0", "num_repeats must be at least 1, got 0"),
        ("sampling.samples_per_prompt=4", "is num_trajectories \\* num_repeats"),
        ("extraction.temperature=0", "extraction.temperature must be above 0"),
        ("verification.top_p=2", "verification.top_p must be from 0 to 1"),
        ("verification.top_k=0", "verification.top_k must be at least 1"),
        ("extraction.max_completion_tokens=0", "extraction.max_completion_tokens must be at"),
        ("verification.max_failed_share=2", "verification.max_failed_share must be from 0 to 1"),
    ],
)
def test_values_out_of_range_are_named(experiment: Path, override: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(experiment, override)


def test_questions_are_sampled_once_each_as_their_section_says(experiment: Path) -> None:
    config = load(experiment, "extraction.temperature=0.5", "extraction.max_completion_tokens=9")
    sampling: Any = config.extraction.sampling()
    assert (sampling.samples_per_prompt, sampling.temperature) == (1, 0.5)
    assert (sampling.top_p, sampling.top_k, sampling.max_completion_tokens) == (0.95, -1, 9)


def test_the_recipe_measures_what_the_report_does() -> None:
    recipe = Path(__file__).parents[2] / "experiments" / "vibethinker_3b" / "clr.yaml"
    config = load(recipe)
    assert (config.num_trajectories, config.num_claims, config.num_repeats) == (32, 5, 8)
    benchmarks = load_benchmarks(config)
    mathematics = ["aime25", "aime26", "hmmt25", "brumo25", "imo_answerbench"]
    assert [each.name for each in benchmarks] == [*mathematics, "gpqa_diamond"]
    assert {each.config.sampling.samples_per_prompt for each in benchmarks} == {256}
    assert {each.config.sampling.top_p for each in benchmarks} == {0.95}
