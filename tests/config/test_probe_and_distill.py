"""What probe and distill are told, and what they refuse."""

import pytest

from mgpo.config.errors import ConfigError
from mgpo.config.load import config_to_yaml, load_config

PROBE = """
stage: probe
run: {name: x}
models: [a, b]
domains: {algebra: {rows: x.jsonl, domain: math, split_by: topic}, code: {rows: y.jsonl}}
"""
DISTILL = """
stage: distill
run: {name: x}
teachers: {math: a, code: b}
student: s
domains: {math: {rows: x.jsonl}, code: {rows: y.jsonl}}
"""


@pytest.mark.parametrize("text", [PROBE, DISTILL])
def test_resolved_yaml_reads_back_to_the_same_config(tmp_path, text):
    path = tmp_path / "e.yaml"
    path.write_text(text)
    config = load_config(path, ["sampling.temperature=0.6"], None)
    assert config.sampling.temperature == 0.6
    path.write_text(config_to_yaml(config))
    assert load_config(path, [], None) == config


def test_a_probe_samples_enough_for_its_k_by_default(tmp_path):
    path = tmp_path / "e.yaml"
    path.write_text(PROBE)
    config = load_config(path, ["sampling.temperature=0.6"], None)
    assert (config.k, config.sampling.samples_per_prompt) == (8, 16)


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        (PROBE, "k=17", "sampling.samples_per_prompt must be at least k=17, got 16"),
        (PROBE, "k=0", "k must be at least 1, got 0"),
        (PROBE, "models=null", "named by either run_dir or models"),
        (PROBE, "run_dir=r", "named by either run_dir or models"),
        (PROBE, "models=[]", "the number of models must be at least 1"),
        (PROBE, "models=[a,b,a]", "models names a more than once"),
        (PROBE, "checkpoints=[3]", "checkpoints are steps of a run_dir"),
        (PROBE, "domains.stem.split_by=x", "missing domains.stem.rows"),
        (PROBE, "domains.algebra.row=x", "domains.algebra.row"),
        (PROBE, "domains.code.specialists=subdomain", "specialists=subdomain needs split_by"),
        (PROBE, "domains.a/b.rows=x", "a domain has a plain name without /, got 'a/b'"),
        (DISTILL, "domains.stem.rows=x", "teachers must name the domains ['code', 'math', 'stem']"),
        (DISTILL, "selection.mix={math: 1.0}", "selection.mix must name the domains"),
        (DISTILL, "selection.mix={math: 0.5, code: 0.4}", "must add up to 1, got the sum 0.9"),
        (DISTILL, "selection.mix={math: 1.5, code: -0.5}", "selection.mix.math must be from 0"),
        (DISTILL, "selection.kept_share=0", "selection.kept_share must be above 0"),
        (DISTILL, "selection.outlier_percentile=101", "must be from 0 to 100"),
        (DISTILL, "selection.length_buckets=0", "selection.length_buckets must be at least 1"),
        (DISTILL, "temperature=0", "temperature must be above 0"),
        (DISTILL, "learner.num_ranks=0", "learner.num_ranks must be at least 1"),
        (DISTILL, "learner.lr=1", "unknown key learner.lr"),
        (DISTILL.replace("student: s", ""), "run.seed=1", "missing student"),
    ],
)
def test_a_wrong_configuration_is_one_clear_line(tmp_path, text, override, message):
    path = tmp_path / "e.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, [override], None)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_probe_without_domains_is_refused(tmp_path):
    path = tmp_path / "e.yaml"
    path.write_text("stage: probe\nrun: {name: x}\nmodels: [a]\n")
    with pytest.raises(ConfigError, match="domains must name at least one domain"):
        load_config(path, [], None)
