"""Sections that may be absent: on with `{}`, off with null, checked like all others."""

from pathlib import Path

import pytest

from mgpo.config.errors import ConfigError
from mgpo.config.filters import FilterConfig
from mgpo.config.load import config_to_yaml, load_config
from mgpo.config.quality import CopiesConfig

BASE = "stage: filter\nrun: {name: f}\ndata: {sources: [a.jsonl]}\n"


@pytest.fixture
def load(tmp_path: Path):
    def load(filters: str, *overrides: str) -> FilterConfig:
        path = tmp_path / "f.yaml"
        path.write_text(f"{BASE}filters: {filters}\n")
        config = load_config(path, overrides, "filter")
        assert isinstance(config, FilterConfig)
        return config

    return load


def test_a_section_is_on_when_it_is_there_and_its_resolved_form_reads_back(load, tmp_path) -> None:
    config = load("{copies: {}, response: null}", "filters.copies.ngram=3")
    assert config.filters.copies == CopiesConfig(ngram=3)
    assert config.filters.names == ["copies"]
    (tmp_path / "resolved.yaml").write_text(config_to_yaml(config))
    assert load_config(tmp_path / "resolved.yaml", [], "filter") == config


def test_an_override_switches_a_section_on_and_off(load) -> None:
    assert load("{copies: {}}", "filters.response={}").filters.names == ["response", "copies"]
    assert load("{copies: {}, response: {}}", "filters.copies=null").filters.names == ["response"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("{copies: {ngrams: 3}}", "unknown key filters.copies.ngrams; did you mean filters.copies"),
        ("{copies: 3}", "filters.copies is a section with keys of its own, got 3"),
        ("{copies: {ngram: abc}}", "filters.copies.ngram must be a whole number, got 'abc'"),
        ("{copies: {ngram: [1]}}", "filters.copies.ngram must be a whole number, got [1]"),
        ("{copies: {ngram: 0}}", "filters.copies.ngram must be at least 1, got 0"),
        ("{decontaminate: {}}", "missing filters.decontaminate.against"),
        ("{accuracy: {model: m, samples_per_prompt: 0}}", "filters.accuracy.samples_per_prompt mu"),
        ("{strata: {num_lengths: 2, length_shares: [1]}}", "filters.strata.length_shares share"),
    ],
)
def test_a_mistake_in_a_section_names_its_key(load, filters: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(filters)
    assert message in str(caught.value)


def test_columns_that_filters_write_cannot_be_mapped(load) -> None:
    with pytest.raises(ConfigError, match=r"data\.columns maps length_stratum, which the filters"):
        load("{strata: {}}", "data.columns={length_stratum: l}")
