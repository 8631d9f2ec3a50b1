"""`mgpo check` and the exit codes, run as a user would."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import CONTEXT_TOKENS, make_model

from mgpo.__main__ import main
from mgpo.config.load import load_config
from mgpo.data.inputs import load_inputs
from mgpo.diagnostics.batch_plan import BatchPlan, plan_batches

ROOT = Path(__file__).parents[2]
ROWS = [
    {"id": f"sum-{i}", "prompt": f"What is {i}+{i}?", "reference": str(2 * i)} for i in range(12)
]
WORKED = [row | {"response": f"It is {row['reference']}."} for row in ROWS]
Check = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_model(folder, seed=0)
    return folder


@pytest.fixture
def experiment(tmp_path: Path, model: Path) -> Path:
    _write_rows(tmp_path / "rows.jsonl", ROWS)
    path = tmp_path / "experiment.yaml"
    path.write_text(
        f"steps: 6\nrun: {{name: test, dir: {tmp_path}}}\nmodel: {{path: {model}}}\n"
        f"data: {{train: {tmp_path}/rows.jsonl, prompts_per_step: 4}}\n"
        "rollout: {group_size: 4, max_completion_tokens: 32}\n"
        "learner: {max_tokens_per_microbatch: 300}\n"
    )
    return path


@pytest.fixture
def check(experiment: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*overrides: str, command: str = "check") -> tuple[int, str, str]:
        code = main([command, str(experiment), *overrides])
        return code, *capsys.readouterr()

    return run


def test_a_sound_experiment_is_ok(check: Check) -> None:
    code, out, err = check("rollout.group_size=8", "algorithm.gamma=2")
    assert code == 0
    assert "error:" not in err
    assert out.rstrip().endswith("ok")
    assert "  group_size: 8\n" in out
    assert "<|im_start|>user\nWhat is 0+0?<|im_end|>\n<|im_start|>assistant\n" in out


def test_rewards_are_tried_on_their_known_items(check: Check, tmp_path: Path) -> None:
    parts = [
        {"reward": "math", "weight": 1, "reference": "0"},
        {"reward": "rubric", "weight": 0.1, "reference": {"rubric": [{"id": "a", "text": "b"}]}},
        {"reward": "fake_graders.plain", "weight": 0.1},
    ]
    row = {"id": "x", "prompt": "?", "reward": "weighted"}
    row["reference"] = {"parts": parts, "verdict": "math"}
    _write_rows(tmp_path / "rows.jsonl", [*ROWS, row])
    code, out, _ = check()
    assert code == 0
    assert "fake_graders.plain  not tested: it brings no known items\n" in out
    assert re.search(r"\nmath                pass \(\d+ items\)\n", out)
    assert "rubric              fail on this host: bad_reward: ValueError: no judge: set" in out
    assert "weighted            pass (2 items)\n" in out


def test_a_reward_with_wrong_verdicts_is_an_error(check: Check, tmp_path: Path) -> None:
    _write_rows(tmp_path / "rows.jsonl", [row | {"reward": "fake_graders.liar"} for row in ROWS])
    _assert_user_error(check(), "reward fake_graders.liar fails its self-test: response 'wrong'")


def test_vllm_that_is_not_on_this_host_is_a_note(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgpo.diagnostics.check.installed_vllm", dict)
    code, out, _ = check("rollout.engine=vllm")
    assert code == 0
    assert "rollout.engine is vllm, which is not installed on this host: the hosts that" in out
    assert "not installed on this host" not in check("rollout.engine=hf")[1]


def test_a_single_row_is_warned_of(
    check: Check, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _write_rows(tmp_path / "rows.jsonl", ROWS[:2])
    _assert_user_error(check("data.max_prompt_tokens=10"), "field prompt")
    assert "one row only" not in caplog.text
    _write_rows(tmp_path / "rows.jsonl", ROWS[:1])
    _assert_user_error(check("data.max_prompt_tokens=10"), "field prompt")
    assert f"data.train {tmp_path}/rows.jsonl has one row only: each step repeats it" in caplog.text


def test_checking_needs_no_ray() -> None:
    code = "import sys, mgpo.diagnostics.check; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_batch_table_by_hand(experiment: Path) -> None:
    """Ten prompts of 31 ids and two of 33, each with 32 new ones: 65 at most, 2 in 130."""
    overrides = [
        "rollout.group_size=5",
        "learner.num_ranks=2",
        "learner.updates_per_batch=2",
        "learner.max_tokens_per_microbatch=130",
    ]
    config = load_config(experiment, overrides, None)
    plan = plan_batches(config, load_inputs(config))
    assert plan == BatchPlan(
        num_rows=12,
        rows_per_step=4,
        group_size=5,
        updates_per_step=2,
        max_tokens_per_sample=33 + 32,
        token_budget=130,
        num_ranks=2,
        microbatches_at_longest=3,  # 10 samples per update, 5 per rank, 2 per micro-batch
        microbatches_of_first_step=3,
        steps=6,
    )
    assert (plan.samples_per_step, plan.samples_per_update) == (20, 10)
    assert (plan.total_updates, plan.epochs) == (12, 2.0)


@pytest.mark.parametrize(
    ("override", "fragment"),
    [
        ("rollout.group_sz=8", "did you mean rollout.group_size?"),
        ("rollout.group_size=1", "rollout.group_size must be at least 2, got 1"),
        ("rollout.top_p=0.95", "rollout.top_p must be 1.0, got 0.95"),
        ("rollout.top_k=20", "rollout.top_k must be -1 (off), got 20"),
        ("rollout.min_p=0.1", "rollout.min_p must be 0.0, got 0.1"),
        ("rollout.temperature=0", "rollout.temperature must be above 0, got 0"),
        ("data.train=nowhere.jsonl", "nowhere.jsonl: no such data file"),
        ("data.eval=nowhere.parquet", "nowhere.parquet: no such data file"),
        ("algorithm.accuracy_source=prior", "line 1, field accuracy: algorithm.accuracy_source"),
        ("model.path=/nowhere/model", "model.path /nowhere/model: no such folder"),
        ("data.max_prompt_tokens=10", "field prompt: 33 tokens, but data.max_prompt_tokens=10"),
        (
            "learner.max_tokens_per_microbatch=64",
            "learner.max_tokens_per_microbatch=64 is too small: the longest prompt (33 tokens",
        ),
        (
            f"rollout.max_completion_tokens={CONTEXT_TOKENS}",
            f"exceed the model's context of {CONTEXT_TOKENS} tokens",
        ),
        ("rollout.max_model_len=600", "rollout.max_model_len=600 is more than the model's context"),
        ("rollout.max_model_len=64", "exceed rollout.max_model_len=64"),
    ],
)
def test_a_mistake_is_one_clear_line(check: Check, override: str, fragment: str) -> None:
    _assert_user_error(check(override), fragment)


def test_a_row_without_reference_is_named(check: Check, tmp_path: Path) -> None:
    _write_rows(tmp_path / "rows.jsonl", [*ROWS, {"prompt": "What?"}])
    _assert_user_error(check(), f"{tmp_path}/rows.jsonl, line 13, field reference: missing")


def test_a_row_with_an_unknown_reward_is_named(check: Check, tmp_path: Path) -> None:
    _write_rows(tmp_path / "rows.jsonl", [*ROWS, ROWS[0] | {"id": "x", "reward": "maths"}])
    _assert_user_error(check(), f"{tmp_path}/rows.jsonl, line 13, field reward: ")


def test_a_row_that_its_reward_cannot_grade_is_named(check: Check, tmp_path: Path) -> None:
    reference = {"kind": "stdin", "tests": [{"input": 5, "output": "5"}]}
    row = {"id": "x", "prompt": "Print it.", "reward": "code", "reference": reference}
    _write_rows(tmp_path / "rows.jsonl", [*ROWS, row])
    _assert_user_error(
        check(), "line 13, field reference: test 0: input of kind stdin is a text, got 5"
    )


def test_a_model_folder_without_config_is_named(check: Check, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    _assert_user_error(check(f"model.path={tmp_path}/empty"), "the folder has no config.json")


def test_a_tokenizer_larger_than_the_model_is_named(
    check: Check, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    for file in model.iterdir():
        if file.suffix != ".safetensors":
            (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 200}))
    _assert_user_error(check(f"model.path={folder}"), "has 259 ids, but the model embeds only 200")


def test_rows_with_a_prior_accuracy_pass(check: Check, tmp_path: Path) -> None:
    prior = {"accuracy": 0.5, "accuracy_n": 8, "accuracy_model": "base"}
    _write_rows(tmp_path / "rows.jsonl", [row | prior for row in ROWS])
    assert check("algorithm.accuracy_source=prior")[0] == 0


def test_a_hub_model_that_is_not_cached_is_not_looked_at(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    code, out, _ = check("model.path=no-such-org/no-such-model", "data.max_prompt_tokens=100")
    assert code == 0
    assert "no-such-org/no-such-model: fetched from the hub at the start" in out
    assert re.search(r"prompts in the data +not known\n", out)


def test_a_hub_dataset_that_is_not_cached_is_not_looked_at(check: Check) -> None:
    code, out, _ = check("data.train=no-such-org/no-such-data@main:train")
    assert code == 0
    assert "no-such-org/no-such-data@main:train: fetched from the hub at the start" in out


def test_supervised_experiment_is_checked_and_rendered(check: Check, tmp_path: Path) -> None:
    _write_rows(tmp_path / "rows.jsonl", WORKED)
    code, out, _ = check("stage=sft", "sft.samples_per_step=3")
    assert code == 0
    assert "<|im_start|>assistant\nIt is 0.<|im_end|>\n" in out
    assert re.search(r"epochs over the data +1\.50\n", out)
    _assert_user_error(
        check("stage=sft", "learner.max_tokens_per_microbatch=42"),
        "learner.max_tokens_per_microbatch=42 is too small",
    )


def test_a_supervised_batch_table_by_hand(check: Check, tmp_path: Path) -> None:
    """Ten rows of 42 or 43 tokens and two of 45 or 46: two go into 100 tokens."""
    _write_rows(tmp_path / "rows.jsonl", WORKED)
    recipe = ["learner.lr=5e-5", "learner.min_lr=8e-8", "learner.schedule=cosine"]
    epochs = ["stage=sft", "steps=null", "epochs=5", *recipe, "learner.warmup_share=0.05"]
    code, out, _ = check(*epochs, "sft.samples_per_step=7")
    assert code == 0
    for line in (
        r"steps, an update each +9",
        r"epochs over the data +5\.00",
        r"examples of a step, most +7",
        r"examples of the last step +4",
        r"updates of the warm-up +1",
        r"learning rate, highest +5e-05",
        r"learning rate, last update +8e-08",
    ):
        assert re.search(line + "\n", out), line
    code, out, _ = check(*epochs, "sft.tokens_per_step=100")
    assert code == 0
    assert re.search(r"steps, an update each +30\n", out)
    assert re.search(r"examples of a step, most +2\n", out)
    _assert_user_error(check(*epochs, "sft.tokens_per_step=40"), "sft.tokens_per_step=40 is too sm")
    _assert_user_error(check("stage=sft", "epochs=5"), "either steps or epochs, got steps=6")


def test_supervised_rows_need_a_response(check: Check) -> None:
    _assert_user_error(check("stage=sft"), "line 1, field response: missing")


def test_command_that_does_not_fit_the_stage(check: Check) -> None:
    _assert_user_error(check("stage=rl", command="sft"), "says stage rl; run it with `mgpo rl`")


def test_errors_in_a_fresh_process_have_no_traceback(experiment: Path) -> None:
    done = _mgpo("check", str(experiment), "group_size=8")
    _assert_user_error((done.returncode, done.stdout, done.stderr), "did you mean rollout.group_s")


@pytest.mark.parametrize("arguments", [(), ("check",), ("nonsense", "x.yaml")])
def test_wrong_usage_is_one_line(arguments: tuple[str, ...]) -> None:
    done = _mgpo(*arguments)
    _assert_user_error((done.returncode, done.stdout, done.stderr), "--help")


def test_interruption_has_its_own_exit_code(tmp_path: Path) -> None:
    fifo = tmp_path / "experiment.yaml"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "mgpo", "check", str(fifo)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("w"):  # opens once the command reads; it then waits for text
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "interrupted: stopped by the user without saving\n"


def test_parsing_imports_nothing_heavy() -> None:
    code = (
        "import sys, contextlib\n"
        "from mgpo.__main__ import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "heavy = ('torch', 'ray', 'vllm', 'transformers', 'omegaconf')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def _mgpo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mgpo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def _assert_user_error(result: tuple[int, str, str], fragment: str) -> None:
    code, out, err = result
    assert code == 2
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, err
    assert fragment in errors[0]
    assert "Traceback" not in out + err


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_pipeline_is_checked_step_by_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["check", "experiments/tiny/"]) == 0
    out = capsys.readouterr().out
    assert "  model.path: runs/tiny_pipeline/merge_hard (made by 07_merge_hard)" in out
    assert out.rstrip().endswith("29 steps ok")


def test_the_plan_of_memory_takes_the_sizes_of_a_model_that_is_not_at_hand(
    check: Check, model: Path
) -> None:
    sizes = ["--model-config", str(model / "config.json"), "--gpu-gib", "40"]
    code, out, _ = check("model.path=no-such-org/no-such-model", *sizes, "rollout.group_size=8")
    assert code == 0
    assert "  group_size: 8\n" in out
    assert "# memory on GPUs of 40 GiB, estimated" in out
