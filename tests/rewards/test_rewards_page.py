"""The blocks of docs/rewards.md and rewards/README.md do what the pages say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mgpo.config.data import DataConfig
from mgpo.data.rows import load_rows
from rewards.judge_settings import JudgeSettings
from rewards.registry import check_reference
from rewards.rubric import read_rubric
from rewards.weighted import read_parts

ROOT = Path(__file__).parents[2]


def blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [block for named, block in fenced if named == language]


@pytest.fixture
def folder(tmp_path):
    """The page's files, each under the name that its first line gives."""
    for block in blocks("docs/rewards.md", "python"):
        name = re.match(r"# (\w+\.py)\n", block)
        (tmp_path / name.group(1)).write_text(block)
    (tmp_path / "rows.jsonl").write_text(blocks("docs/rewards.md", "json")[0])
    return tmp_path


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_trying_the_plugin_prints_what_the_page_says(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "rows.jsonl",
        "try_it.py",
        "word_limit.py",
    ]
    assert run(folder, "try_it.py") == blocks("docs/rewards.md", "")[0]


def test_the_plugin_passes_its_own_self_test(folder):
    check = "import word_limit as w; print([w.grade(a, b).correct == c for a, b, c in w.SELF_TEST])"
    assert run(folder, "-c", check) == "[True, True, True]\n"


def test_the_rows_of_the_page_are_rows(folder):
    rows = load_rows(str(folder / "rows.jsonl"), DataConfig(train="", eval=None))
    assert [row.reward for row in rows] == ["word_limit.grade"] * 2
    assert rows[1].reference == {"word": "Madrid", "limit": 3}


def test_the_readmes_rows_and_settings_are_valid():
    stem, code, rubric, weighted = map(json.loads, blocks("rewards/README.md", "json"))
    check_reference("stem", stem, {})
    check_reference("code", code["reference"], {})
    assert [item.weight for item in read_rubric(rubric["reference"])] == [1.0, 2.0, 1.0]
    parts, verdict = read_parts(weighted["reference"], {})
    assert (parts[verdict].reward, parts[1].fields) == ("math", {"language": "en"})
    (settings,) = blocks("rewards/README.md", "yaml")
    assert JudgeSettings(**yaml.safe_load(settings)).votes == 1
