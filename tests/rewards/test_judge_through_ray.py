"""A run's environment and folder reach the graders: settings of the judge, files with functions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import foreign_rewards
import pytest
from fake_judge import FakeJudge, honest

pytestmark = [pytest.mark.ray, pytest.mark.slow]

DRIVER = """
import ray
from rewards.config import RewardConfig
from rewards.service import RewardService
from rewards.types import ScoreRequest

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
service = RewardService(RewardConfig(timeout_s=30.0, correct_threshold=0.5))
rubric = {"rubric": [{"id": "a", "text": "says apple"}, {"id": "b", "text": "says banana"}]}
outcomes = service.score([
    ScoreRequest(reward="rubric", response="an apple", reference=rubric),
    ScoreRequest(reward="trl:mine/rewards.py:length_reward", response="four", reference=""),
])
print([(outcome.word, outcome.value, outcome.reason) for outcome in outcomes])
service.close()
"""


def test_settings_and_relative_files_are_found_behind_ray(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rewards.py").write_text(Path(foreign_rewards.__file__).read_text())
    with FakeJudge(honest) as server:
        settings = {"endpoint": server.endpoint, "model": "m"}
        (tmp_path / "judge.json").write_text(json.dumps(settings))
        done = subprocess.run(
            [sys.executable, "-c", DRIVER],
            cwd=tmp_path,
            env={
                **os.environ,
                "MGPO_JUDGE": "judge.json",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert "[('correct', 0.5, 'judged'), ('wrong', -4.0, '')]" in done.stdout, done.stderr[-2000:]
