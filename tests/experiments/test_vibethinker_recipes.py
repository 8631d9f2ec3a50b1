"""The recipes of VibeThinker: they load, fit, follow from each other, and say what is published."""

import json
import re
from pathlib import Path

import pytest

from experiments.public_data.sets import FILES
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.filters import FilterConfig
from mgpo.config.script import ScriptConfig
from mgpo.config.training import RlConfig, SftConfig, TrainingConfig
from mgpo.data.benchmark import load_benchmarks
from mgpo.data.model_files import load_model_config
from mgpo.diagnostics.check import Machine, run_pipeline
from mgpo.diagnostics.memory_plan import ModelShape, learner_gib
from mgpo.pipeline.steps import load_steps, maker_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FOLDERS = ("vibethinker_3b", "vibethinker_1_5b")
GPU_GIB = 80.0
UNMARKED = re.compile(
    r"stage|name|dir|run_dir|path|train|eval|rows|model|output|tokenizer|engine|split_by|domain"
    r"|student|math|code|stem"
)
"""Keys whose values are names and places."""
_VALUE = re.compile(r"\s*(?P<key>[a-z_0-9]+): (?P<value>[^#]*?)(?:\s+# (?P<mark>.*))?")


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The steps of each folder, as they are where nothing was run yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nothing"))
        yield {name: load_steps(EXPERIMENTS / name, []) for name in FOLDERS}


@pytest.mark.parametrize("name", FOLDERS)
def test_check_accepts_the_pipeline(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    folder = EXPERIMENTS / name
    machine = Machine(gpu_gib=GPU_GIB, model_config=folder / "base_config.json")
    text = run_pipeline(folder, [], machine)
    assert text.endswith("steps ok")
    assert "learner, a rank" in text
    assert "MORE than" not in text


# Recipe of the 3B report: step -> key -> value.
_STAGE_TWO = {"sft.samples_per_step": 128, "learner.lr": 5e-5, "learner.schedule": "cosine"} | {
    "learner.min_lr": 8e-8,
    "learner.warmup_share": 0.05,
}
_RL = {
    "algorithm.target_accuracy": 0.5,
    "learner.updates_per_batch": 1,
    "rollout.max_model_len": 65536,
}
_FILTER = {"filters.accuracy.drop_all_or_none": True, "filters.decontaminate.ngram": 10}
_FILTER_64K = {**_FILTER, "rollout.max_model_len": 65536}
PUBLISHED = {
    "vibethinker_3b": {
        "01_filter_broad": {"filters.decontaminate.ngram": 10},
        "02_sft_broad": {"epochs": 5, "model.path": "Qwen/Qwen2.5-Coder-3B", **_STAGE_TWO}
        | {"model.rope.original_context": 32768},
        "04_merge_broad": {"weights": None},
        "05_filter_hard": {
            "filters.accuracy.model": "WeiboAI/VibeThinker-1.5B",
            "filters.accuracy.samples_per_prompt": 8,
            "filters.hard_rows.min_error_rate": 0.75,
            "filters.hard_rows.min_response_tokens": 5000,
        },
        "06_sft_hard": {
            "epochs": 2,
            "model.path": "runs/vibethinker_3b/sft_broad/final",
            **_STAGE_TWO,
        },
        "08_merge_hard": {"weights": None},
        "09_filter_math": _FILTER_64K,
        "10_rl_math": _RL,
        "11_filter_long2short": _FILTER_64K,
        "12_rl_long2short": {**_RL, "length_reward.lambda_": 0.2},
        "13_filter_code": _FILTER_64K,
        "14_rl_code": _RL,
        "15_filter_stem": _FILTER_64K,
        "16_rl_stem": _RL,
        "17_distill": {"rollout.max_model_len": 65536},
        "19_filter_instruct": _FILTER_64K,
        "20_rl_instruct": _RL,
        "21_evaluate": {
            "sampling.temperature": 1.0,
            "sampling.top_p": 0.95,
            "sampling.top_k": -1,
        },
    },
    "vibethinker_1_5b": {
        "01_filter_broad": {"filters.decontaminate.ngram": 10},
        "02_sft_broad": {
            "model.path": "Qwen/Qwen2.5-Math-1.5B",
            "model.rope.original_context": 4096,
        },
        "04_merge_broad": {"weights": None},
        "08_merge_hard": {"weights": None},
        "09_filter_math_16k": {**_FILTER, "filters.accuracy.max_completion_tokens": 16384},
        "10_rl_math_16k": {"rollout.max_completion_tokens": 16384}
        | {"algorithm.target_accuracy": 0.5, "learner.updates_per_batch": 1},
        "11_filter_math_32k": {**_FILTER, "filters.accuracy.max_completion_tokens": 32768},
        "12_rl_math_32k": {"rollout.max_completion_tokens": 32768}
        | {"algorithm.target_accuracy": 0.5, "learner.updates_per_batch": 1},
        "13_filter_code": _FILTER,
        "14_rl_code": {"algorithm.target_accuracy": 0.5, "learner.updates_per_batch": 1},
    },
}


@pytest.mark.parametrize("name", FOLDERS)
def test_published_values_are_those_of_the_reports(steps, name):
    by_name = {step.name: step.config for step in steps[name]}
    for step, values in PUBLISHED[name].items():
        for key, value in values.items():
            found = by_name[step]
            for part in key.split("."):
                found = getattr(found, part)
            assert found == value, f"{step}: {key}"


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_marked_as_published_is_in_the_table(name):
    for path in sorted((EXPERIMENTS / name).glob("[0-9]*.yaml")):
        marked = {
            key for key, mark in _marked_keys(path).items() if mark.partition(":")[0] == "published"
        }
        listed = {key.split(".")[-1] for key in PUBLISHED[name].get(path.stem, ())}
        # 1/N is the default of a merge, which has no line for it.
        assert marked == listed - {"weights"}, path


@pytest.mark.parametrize("name", FOLDERS)
def test_every_value_is_marked_once(name):
    for path in sorted((EXPERIMENTS / name).glob("[0-9]*.yaml")):
        if path.stem == "00_data":
            continue
        for key, mark in _marked_keys(path).items():
            origin = mark.partition(":")[0]
            assert not ("published" in mark and "ours" in mark), f"{path}: {key}: {mark}"
            is_name = UNMARKED.fullmatch(key) is not None
            assert origin in ("published", "ours") or (is_name and not mark), f"{path}: {key}"


@pytest.mark.parametrize("name", FOLDERS)
def test_benchmarks_have_the_generations_of_the_report(steps, name):
    [config] = [step.config for step in steps[name] if isinstance(step.config, EvaluateConfig)]
    counts = {"imo_answerbench": 16, "gpqa_diamond": 16, "ifeval": 16, "ifbench": 16}
    counts |= {"livecodebench_v6_new": 8, "ojbench": 8, "leetcode_contests": 4}
    for benchmark in load_benchmarks(config):
        sampling = benchmark.config.sampling
        assert sampling.samples_per_prompt == counts.get(benchmark.name, 64), benchmark.name
        assert sampling.max_completion_tokens is None
        assert benchmark.config.sources


def test_the_order_of_stages_is_the_reports():
    names = [path.stem for path in sorted((EXPERIMENTS / "vibethinker_3b").glob("[0-9]*.yaml"))]
    trained = [name[3:] for name in names if "sft" in name or "rl_" in name]
    assert trained == [
        *("sft_broad", "sft_hard", "rl_math", "rl_long2short", "rl_code", "rl_stem"),
        *("sft_distill", "rl_instruct"),
    ]


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        (
            "vibethinker_3b",
            {
                "06_sft_hard": "02_sft_broad",
                "10_rl_math": "08_merge_hard",
                "12_rl_long2short": "10_rl_math",
                "14_rl_code": "12_rl_long2short",
                "16_rl_stem": "14_rl_code",
                "18_sft_distill": "16_rl_stem",
                "20_rl_instruct": "18_sft_distill",
            },
        ),
        (
            "vibethinker_1_5b",
            {
                "06_sft_hard": "02_sft_broad",
                "10_rl_math_16k": "08_merge_hard",
                "12_rl_math_32k": "10_rl_math_16k",
                "14_rl_code": "12_rl_math_32k",
            },
        ),
    ],
)
def test_each_training_stage_starts_from_an_earlier_model(steps, name, starts):
    found = {}
    for index, step in enumerate(steps[name]):
        if isinstance(step.config, TrainingConfig):
            maker = maker_of(step.config.model.path, steps[name][:index])
            if maker is not None:
                found[step.name] = maker.name
                assert Path(step.config.model.path).resolve() in maker.config.artifacts().values()
    assert found == starts


@pytest.mark.parametrize("name", FOLDERS)
def test_each_rl_stage_has_prompts_that_its_start_solves_sometimes(steps, name):
    configs = [step.config for step in steps[name]]
    stages = [config for config in configs if isinstance(config, RlConfig)]
    filters = {
        f"{config.run.dir}/{config.run.name}/rows.jsonl": config
        for config in configs
        if isinstance(config, FilterConfig)
    }
    assert stages
    for stage in stages:
        accuracy = filters[stage.data.train].filters.accuracy
        assert accuracy.model == stage.model.path
        assert accuracy.samples_per_prompt == 8
        assert accuracy.drop_all_or_none
        assert accuracy.max_completion_tokens == stage.rollout.max_completion_tokens


@pytest.mark.parametrize("name", FOLDERS)
def test_ranks_and_engines_fit_on_the_same_gpus(steps, name):
    config = load_model_config(str(EXPERIMENTS / name / "base_config.json"))
    shape = ModelShape.of(config)
    for step in steps[name]:
        stage = step.config
        if not isinstance(stage, TrainingConfig):
            continue
        learner = sum(learner_gib(stage, shape).values())
        assert stage.learner.num_ranks == 8
        if isinstance(stage, RlConfig):
            assert stage.rollout.num_workers == 8
            learner += stage.rollout.gpu_memory_utilization * GPU_GIB
        assert learner < 0.95 * GPU_GIB, step.name


@pytest.mark.parametrize(("name", "context"), [(FOLDERS[0], 65536), (FOLDERS[1], 40960)])
def test_the_longest_sample_fits_context_and_token_budget(steps, name, context):
    configs = [step.config for step in steps[name]]
    first = next(config for config in configs if isinstance(config, SftConfig))
    assert first.model.rope.context == context
    for config in configs:
        if isinstance(config, TrainingConfig):
            assert config.learner.max_tokens_per_microbatch == context
        if isinstance(config, SftConfig) and config is not first:
            assert config.model.rope.factor is None  # inherited with the checkpoint
        if isinstance(config, RlConfig):
            longest = config.data.max_prompt_tokens + config.rollout.max_completion_tokens
            assert longest == config.rollout.max_model_len <= context


@pytest.mark.parametrize("name", FOLDERS)
def test_data_that_is_asked_for_is_data_that_is_made(steps, name):
    [config] = [step.config for step in steps[name] if isinstance(step.config, ScriptConfig)]
    asked = config.command[config.command.index("--files") + 1 :]
    assert set(asked) <= FILES.keys()
    folder = config.command[config.command.index("--output") + 1]
    assert config.outputs == [f"{folder}/{file}" for file in asked]
    for file in asked:
        limits, name_3b = FILES[file], name == "vibethinker_3b"
        assert limits.max_prompt_tokens < (32000 if file == "rl_instruct.jsonl" else 40960)
        if limits.max_tokens is not None:
            assert limits.max_tokens < (65536 if name_3b else 40960)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        (FOLDERS[0], (36, 2048, 11008, 16, 2, 151936, True, 1e6, 32768)),
        (FOLDERS[1], (28, 1536, 8960, 12, 2, 151936, True, 1e4, 4096)),
    ],
)
def test_base_configurations_are_the_public_ones(name, sizes):
    config = json.loads((EXPERIMENTS / name / "base_config.json").read_text())
    keys = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads")
    more = ("num_key_value_heads", "vocab_size", "tie_word_embeddings", "rope_theta")
    assert tuple(config[key] for key in (*keys, *more, "max_position_embeddings")) == sizes


def _marked_keys(path):
    """Return key -> comment of each line with a value."""
    lines = path.read_text().splitlines()
    matches = [_VALUE.fullmatch(line) for line in lines if not line.lstrip().startswith("#")]
    return {match["key"]: match["mark"] or "" for match in matches if match and match["value"]}
