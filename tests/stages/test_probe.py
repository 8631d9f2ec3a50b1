"""The specialists of a probe follow from the samples on disk, whether or not it was killed."""

import json
from math import comb

import pytest
import yaml
from stage_runs import NUM_ROWS, finish, kill_when, make_domains, num_lines, start

from mgpo.config.domains import ProbeDomainConfig
from mgpo.config.errors import DataError, UserError
from mgpo.config.load import load_config
from mgpo.config.probe import ProbeConfig
from mgpo.data.rows import Row
from mgpo.stages import probe
from mgpo.tracking.sample_store import read_stored_samples

SAMPLES, K = 4, 2


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "probe.yaml"
    models = [str(tmp_path / f"step_{seed}") for seed in (2, 3)]
    path.write_text(
        f"{make_domains(tmp_path)}models: {models}\nk: {K}\n"
        f"sampling: {{samples_per_prompt: {SAMPLES}, max_completion_tokens: 200}}\n"
    )
    return path


def pass_at_k_by_hand(path, scope):
    """1 - C(n-c, K) / C(n, K), from the file of samples."""
    correct = {}
    for sample in read_stored_samples(path):
        correct.setdefault(sample.prompt_id, []).append(sample.is_correct)
    shares = [
        1 - comb(SAMPLES - sum(verdicts), K) / comb(SAMPLES, K)
        for prompt, verdicts in correct.items()
        if prompt.startswith(scope)
    ]
    return sum(shares) / NUM_ROWS


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_killed_probe_ends_as_the_undisturbed_one(experiment, tmp_path):
    said = finish(experiment, "probe", "undisturbed", "domains.code.split_by=topic")
    results = json.loads((tmp_path / "undisturbed" / "results.json").read_text())
    assert list(results["domains"]) == ["math", "code", "code/sums", "code/products"]
    files = [next((tmp_path / "undisturbed" / "samples").glob(f"step_{n}-*.jsonl")) for n in (2, 3)]
    for domain in ("math", "code"):
        expected = [pass_at_k_by_hand(path, domain) for path in files]
        found = results["domains"][domain]["models"]
        assert [model["pass_at_k"] for model in found] == pytest.approx(expected, abs=1e-12)
        assert all(m["pass_at_k_low"] < m["pass_at_k"] < m["pass_at_k_high"] for m in found)
        best = expected.index(max(expected))
        assert results["specialists"][domain] == str(tmp_path / f"step_{best + 2}")
        link = tmp_path / "undisturbed" / "specialists" / domain
        assert link.resolve() == tmp_path / f"step_{best + 2}"
        assert f"{100 * max(expected):.1f} (" in said
    svg = (tmp_path / "undisturbed" / "pass_at_k.svg").read_text()
    assert all(text in svg for text in (">math<", ">code/sums<", ">step_2<"))

    # The merge of the specialists, as it was written.
    merge = tmp_path / "undisturbed" / "merge.yaml"
    assert load_config(merge, [], "merge").models == list(results["specialists"].values())
    assert yaml.safe_load(merge.read_text())["output"] == str(tmp_path / "undisturbed" / "merged")

    samples = tmp_path / "killed" / "samples"
    process = start(experiment, "probe", "killed", "domains.code.split_by=topic")
    # In the middle of the second model.
    kill_when(
        lambda: num_lines(*samples.glob("step_3-*.jsonl")) > 0,
        process,
        tmp_path / "killed.log",
    )
    assert num_lines(*samples.glob("*.jsonl")) < 4 * NUM_ROWS * SAMPLES
    assert not (tmp_path / "killed" / "results.json").exists()
    finish(experiment, "probe", "killed", "domains.code.split_by=topic")
    assert json.loads((tmp_path / "killed" / "results.json").read_text()) == results
    for path in files:
        resumed = read_stored_samples(samples / path.name)
        assert {s.key: s.text for s in resumed} == {
            s.key: s.text for s in read_stored_samples(path)
        }


def make_config(**domain):
    return ProbeConfig(models=["m"], domains={"math": ProbeDomainConfig(rows="r", **domain)}, k=2)


def make_row(row_id, **fields):
    return Row(
        id=row_id,
        messages=(),
        domain="math",
        reward="math",
        reference="1",
        fields=fields,
        where=f"rows.jsonl, line {row_id}",
    )


def test_a_row_without_its_sub_domain_is_named():
    rows = {"math": [make_row("1", topic="sums"), make_row("2")]}
    with pytest.raises(DataError, match=r"line 2, field topic: missing; domains.math.split_by"):
        probe._scopes(make_config(split_by="topic"), rows)


def tally(*counts):
    return {
        f"r{i}": probe.Tally(num_samples=samples, num_correct=correct)
        for i, (samples, correct) in enumerate(counts)
    }


def test_problems_that_one_model_lacks_verdicts_of_are_left_out_for_all():
    models = [tally((4, 4), (4, 0), (4, 0)), tally((1, 1), (4, 4), (4, 0))]
    probed = probe._probe("math", ["r0", "r1", "r2"], models, make_config())
    assert probed.left_out == ("r0",)
    assert [measured.pass_at_k[0] for measured in probed.measured] == [0.0, 0.5]
    assert probed.best == 1


def test_specialists_are_of_domains_or_of_their_parts():
    whole, parts = make_config(), make_config(split_by="topic", specialists="subdomain")
    found = [
        probe._probe(scope, ["r0"], [tally((4, 1))], config).is_candidate
        for config in (whole, parts)
        for scope in ("math", "math/sums")
    ]
    assert found == [True, False, False, True]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([tally((4, 0)), tally((4, 0))], "domain math: no model solved any of its 1 problems"),
        ([tally((4, 2)), tally((1, 0))], "domain math: no problem has k=2 samples with a verdict"),
    ],
)
def test_a_domain_that_tells_nothing_is_refused(models, message):
    with pytest.raises(UserError, match=message):
        probe._probe("math", ["r0"], models, make_config())


def test_a_part_that_no_model_solved_has_no_best_one_and_stops_nothing():
    probed = probe._probe("math/hard", ["r0"], [tally((4, 0)), tally((4, 0))], make_config())
    assert probed.best is None
    assert probed.measured[0].pass_at_k[0] == 0.0
