"""`mgpo clr` and `mgpo solve` from end to end: against a scripted server, and with real engines."""

import json
import re
from pathlib import Path
from typing import Any

import fakes
import pytest
from fake_judge import FakeJudge, Reply, completion

from mgpo.config.clr import ClrConfig
from mgpo.config.errors import ConfigError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.load import load_config
from mgpo.stages import clr, evaluate, solve
from mgpo.tracking.result_files import ResultFiles

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("ray_cluster"),
]

NUM_PROBLEMS, K, REPEATS = 4, 4, 2
PER_PROBLEM = K * REPEATS
SHORT_TEMPLATES = {"extract": "{problem} {solution} {num_claims}", "verify": "{problem} {claim}"}


def play(body: dict[str, Any], number: int) -> Reply:
    """Answer `say i` with i one time in four and with 99 otherwise; claims of i hold."""
    asked = body["messages"][-1]["content"]
    wanted = re.findall(r"say (\d+)", asked)[0]
    if "Check the claim" in asked:
        holds = f"it is {wanted}" in asked
        return completion(f"VERDICT: {'true' if holds else 'false'}")
    if "--- solution ---" in asked:
        said = re.findall(r"boxed\{(\d+)\}", asked)[-1]
        return completion(f"CLAIM 1: it is {said}\nCLAIM 2: so it is {said}\nANSWER: {said}.0")
    return completion(rf"So \boxed{{{wanted if body['seed'] % 4 == 0 else 99}}}")


def write_experiment(folder: Path, **more: str) -> Path:
    rows = [{"id": f"r{i}", "prompt": f"say {i}", "reference": str(i)} for i in range(NUM_PROBLEMS)]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "sums.yaml").write_text(f"title: Sums\nsources: [{folder}/rows.jsonl]\n")
    lines = {
        "run": f"{{name: r, dir: {folder}}}",
        "benchmarks": f"[{folder}/sums.yaml]",
        "reward": "{processes_per_worker: 1}",
        "tracking": "{wandb: disabled}",
        **more,
    }
    path = folder / "experiment.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    return path


def load(path: Path, *overrides: str) -> ClrConfig:
    sizes = [f"num_trajectories={K}", f"num_repeats={REPEATS}", "num_claims=2"]
    config = load_config(path, [*sizes, *overrides], "clr")
    assert isinstance(config, ClrConfig)
    return config


def figures(folder: Path) -> dict[str, Any]:
    result = ResultFiles(folder).read_results()["benchmarks"]["sums"]
    assert result.pop("seconds") > 0
    return dict(result)


def test_a_server_is_asked_for_everything_once(tmp_path: Path) -> None:
    with FakeJudge(play) as server:
        path = write_experiment(tmp_path, server=f'{{endpoint: "{server.endpoint}", model: m}}')
        table = clr.run(load(path))
        calls = NUM_PROBLEMS * PER_PROBLEM * (1 + 1 + 2)
        assert len(server.bodies) == calls
        found = figures(tmp_path / "r")
        assert clr.run(load(path))
        assert len(server.bodies) == calls
        assert figures(tmp_path / "r") == found
        with pytest.raises(ConfigError, match="sampling of benchmark sums was"):
            clr.run(load(path, "num_repeats=1"))
        with pytest.raises(ConfigError, match="extraction"):
            clr.run(load(path, "extraction.temperature=0.5"))
        # The samples of an evaluation in place of trajectories of our own.
        arguments = [f"sampling.samples_per_prompt={K}", "run.name=e"]
        evaluation = load_config(path, arguments, "evaluate")
        assert isinstance(evaluation, EvaluateConfig)
        evaluate.run(evaluation)
        server.bodies.clear()
        clr.run(load(path, f"from_samples={tmp_path}/e", "run.name=stored"))
        assert len(server.bodies) == NUM_PROBLEMS * PER_PROBLEM * (1 + 2)
    # A right trajectory is reliable and no other: CLR is right as often as one is among K.
    assert found["clr@4"] == found["oracle@4"]
    assert found["clr@4"]["mean"] > found["maj@4"]["mean"]
    assert found["verification"]["asked"] == 2 * NUM_PROBLEMS * PER_PROBLEM
    assert found["tokens.clr@4"] == K * (10 + 10 + 20)
    assert "claim-level reliability" in table
    assert "logprob@4" not in found  # this server gives none
    stored = figures(tmp_path / "stored")
    assert stored["repeats_with_own_trajectories"] == 1
    pass_at_1 = ResultFiles(tmp_path / "e").read_results()["benchmarks"]["sums"]["pass@1"]
    assert stored["pass@1"]["mean"] == pass_at_1["mean"]


def test_engines_repeat_what_was_cut_to_the_letter(tmp_path: Path) -> None:
    fakes.make_model(tmp_path / "model", seed=2, head_dim=8)
    for name, text in SHORT_TEMPLATES.items():
        (tmp_path / f"{name}.txt").write_text(text)
    shared = {
        "dtype": "float32",
        "rollout": "{engine: hf, max_batch_samples: 4}",
        "sampling": "{max_completion_tokens: 30, max_error_share: 1.0}",
        "extraction": "{max_completion_tokens: 20}",
        "templates_dir": str(tmp_path),
    }
    path = write_experiment(tmp_path, model=f"{tmp_path}/model", **shared)
    clr.run(load(path))
    files = ResultFiles(tmp_path / "r")
    whole, claims = figures(tmp_path / "r"), files.claims("sums").read_text()
    truncated = whole["trajectories_truncated"]
    assert whole["extraction"]["asked"] == NUM_PROBLEMS * PER_PROBLEM - truncated > 0
    assert whole["logprob@4"]["mean"] == 0.0
    lines = claims.splitlines(keepends=True)
    files.claims("sums").write_text("".join(lines[:2]) + lines[2][:30])
    clr.run(load(path))
    assert figures(tmp_path / "r") == whole
    assert sorted(files.claims("sums").read_text().splitlines()) == sorted(claims.splitlines())
    overrides = ["run.device=cpu", *(f"{key}={value}" for key, value in shared.items())]
    shown = solve.run(str(tmp_path / "model"), "1+1?", 3, 2, overrides)
    assert shown.count("reliability 0, ") == 3
    assert "answer: " in shown
