"""Merging, checking and explaining an experiment."""

import subprocess
import sys
from pathlib import Path

import pytest

from mgpo.config.errors import ConfigError
from mgpo.config.load import config_to_yaml, load_config
from mgpo.config.stages import STAGES
from mgpo.config.training import RlConfig, SftConfig

ROOT = Path(__file__).parents[2]
EXPERIMENTS = sorted((ROOT / "experiments").glob("*/*.yaml"))
MINIMAL = "steps: 3\nrun: {name: x}\nmodel: {path: m}\ndata: {train: t.jsonl}\n"


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(MINIMAL)
    return path


def test_override_beats_yaml_beats_default(experiment: Path) -> None:
    experiment.write_text(MINIMAL + "rollout: {group_size: 4, max_completion_tokens: 7}\n")
    config = load_config(experiment, ["rollout.group_size=8", "learner.lr=3e-5"], None)
    assert config.rollout.group_size == 8
    assert config.rollout.max_completion_tokens == 7
    assert config.rollout.temperature == 1.0
    assert config.learner.lr == 3e-5


def test_result_is_plain_dataclasses(experiment: Path) -> None:
    config = load_config(experiment, ["data.columns={reference: reward_model.ground_truth}"], None)
    assert type(config) is RlConfig
    assert type(config.data.columns) is dict
    assert config.data.columns == {"reference": "reward_model.ground_truth"}


def test_resolved_yaml_reads_back_to_the_same_config(experiment: Path, tmp_path: Path) -> None:
    config = load_config(experiment, ["data.reference_after='####'", "learner.lr=1e-6"], None)
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(config_to_yaml(config))
    assert load_config(resolved, [], None) == config


def test_a_file_without_stage_takes_the_commands(experiment: Path) -> None:
    assert type(load_config(experiment, [], None)) is RlConfig
    assert type(load_config(experiment, [], "sft")) is SftConfig


@pytest.mark.parametrize(
    ("override", "suggestion"),
    [
        ("group_size=8", "unknown key group_size; did you mean rollout.group_size?"),
        (
            "learner.group_size=8",
            "unknown key learner.group_size; did you mean rollout.group_size?",
        ),
        ("rollout.group_sz=8", "unknown key rollout.group_sz; did you mean rollout.group_size?"),
        ("rolout.group_size=8", "unknown key rolout.group_size; did you mean rollout.group_size?"),
        ("algorithm.gama=1", "unknown key algorithm.gama; did you mean algorithm.gamma?"),
        ("wholly_unlike=1", "unknown key wholly_unlike"),
    ],
)
def test_unknown_key_names_the_nearest_one(
    experiment: Path, override: str, suggestion: str
) -> None:
    assert _message(experiment, override) == f"override '{override}': {suggestion}"


def test_unknown_key_of_a_file_names_the_file(experiment: Path) -> None:
    experiment.write_text(MINIMAL + "rollout: {group_sise: 8}\n")
    assert _message(experiment).startswith(f"{experiment}: unknown key rollout.group_sise;")


@pytest.mark.parametrize(
    ("override", "fragment"),
    [
        (
            "algorithm.mismatch=tis",
            "algorithm.mismatch must be one of token_tis, icepop, geo_mask, none",
        ),
        ("rollout.group_size=abc", "rollout.group_size must be a whole number, got 'abc'"),
        ("rollout.group_size=8.5", "rollout.group_size must be a whole number, got 8.5"),
        ("rollout.group_size=null", "rollout.group_size must be a whole number, got None"),
        ("learner.lr=abc", "learner.lr must be a number, got 'abc'"),
        ("rollout.deterministic=maybe", "rollout.deterministic must be true or false, got 'maybe'"),
        ("rollout.max_model_len=x", "rollout.max_model_len must be a whole number or null, got"),
        ("rollout.engine=5", "rollout.engine must be one of auto, vllm, hf, got 5"),
        ("run.name=[1]", "run.name must be text, got [1]"),
        ("data.columns=[1]", "data.columns must be a mapping of names to values that are each"),
        ("data.columns={a: {b: c}}", "each text, got {'a': {'b': 'c'}}"),
        ("data.columns={1: x}", "data.columns must have names as keys, got 1"),
        ("reward.timeouts_s={code: x}", "reward.timeouts_s.code must be a number, got 'x'"),
        ("reward.options={a: 3}", "each a mapping of names to values, got {'a': 3}"),
        ("steps=${run.name}", "steps must be a whole number, got '${run.name}'"),
        ("rollout=3", "rollout is a section with keys of its own, got 3"),
        ("rollout.group_size", "an override is written key=value"),
        ("=3", "an override is written key=value"),
        ("data.train=[a", "the value is not valid YAML"),
        ("run.name=${nowhere}", "run.name: Interpolation key 'nowhere' not found"),
        ("data.reference_after=####", "put it in quotes"),
        ("stage=ppo", f"stage must be one of {', '.join(STAGES)}, got 'ppo'"),
    ],
)
def test_bad_override_is_named(experiment: Path, override: str, fragment: str) -> None:
    message = _message(experiment, override)
    assert fragment in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "rollout.group_size=1",
            "rollout.group_size must be at least 2, got 1: "
            "an advantage compares the completions of one prompt",
        ),
        ("learner.lr=.nan", "learner.lr must be above 0, got nan"),
        ("steps=0", "steps must be at least 1, got 0"),
        (
            "overlong.buffer_tokens=2000",
            "overlong.buffer_tokens must be at most rollout.max_completion_tokens (1024), got 2000",
        ),
        ("data.max_refill_prompts=-1", "data.max_refill_prompts must be at least 0, got -1"),
    ],
)
def test_impossible_value_names_key_and_range(
    experiment: Path, override: str, message: str
) -> None:
    assert _message(experiment, override) == message


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a: b: c", "not valid YAML"),
        ("steps: 1\nsteps: 2", "found duplicate key steps"),
        ("- steps", "an experiment is a YAML mapping"),
        ("rollout.group_size: 8", "write a dotted key as nested sections"),
        ("rollout:", "rollout is a section with keys of its own, got None"),
        ("steps: 3", "missing data.train, model.path, run.name"),
        ("", "missing data.train, model.path, run.name, steps"),
    ],
)
def test_bad_file_is_named(experiment: Path, text: str, fragment: str) -> None:
    experiment.write_text(text)
    message = _message(experiment)
    assert message.startswith(str(experiment))
    assert fragment in message
    assert "\n" not in message


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert _message(tmp_path / "no.yaml") == f"{tmp_path / 'no.yaml'}: no such experiment file"


@pytest.mark.parametrize("override", ["data.domain_weights={math: 1}", "data.max_refill_prompts=4"])
def test_what_only_rl_reads_is_refused_in_a_supervised_stage(
    experiment: Path, override: str
) -> None:
    with pytest.raises(ConfigError, match="are for `mgpo rl`"):
        load_config(experiment, [override], "sft")


def test_command_and_stage_must_agree(experiment: Path) -> None:
    experiment.write_text(MINIMAL + "stage: rl\n")
    with pytest.raises(ConfigError, match="says stage rl; run it with `mgpo rl`"):
        load_config(experiment, [], "sft")


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_experiment_loads(path: Path) -> None:
    config = load_config(path, [], None)
    assert isinstance(config, STAGES[config.stage])


def test_loading_configs_imports_nothing_heavy() -> None:
    code = (
        "import sys, mgpo.config.load; "
        "print([m for m in ('torch', 'ray', 'vllm', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def _message(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides, None)
    return str(caught.value)
