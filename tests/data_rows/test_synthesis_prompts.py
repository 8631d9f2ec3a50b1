"""Answers of writers and judges are read strictly; templates are filled once."""

from pathlib import Path

import pytest

from mgpo.config.errors import ConfigError
from mgpo.config.synthesize import AXES
from mgpo.data.synthesis_prompts import Templates, read_problem, read_verdict

GOOD = '{"complete": true, "reasonable": true, "valid": true, "tests_the_point": false}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"problem": " 1+1? "}', "1+1?"),
        ('<think>{"problem": "draft"}</think>\n{"problem": "1+1?"}', "1+1?"),
        ('```json\n{"problem": "two\nlines"}\n```', "two\nlines"),
        ('{"problem": ""}', None),
        ('{"problem": 5}', None),
        ('{"problem": "a", "answer": "b"}', None),
        ('Sure: {"problem": "a"}', None),
        ('{"problem": "a"', None),
        ('["a"]', None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_a_problem_is_read_or_there_is_none(text: str, problem: str | None) -> None:
    assert read_problem(text) == problem


def test_a_verdict_has_every_criterion_and_no_other() -> None:
    verdict = read_verdict(GOOD)
    assert verdict is not None
    assert [name for name, is_met in verdict.items() if not is_met] == ["tests_the_point"]
    assert read_verdict(GOOD.replace("false", "0")) is None
    assert read_verdict(GOOD.replace("false", '"false"')) is None
    assert read_verdict(GOOD.replace(', "valid": true', "")) is None
    assert read_verdict(GOOD.replace("{", '{"score": 1, ')) is None


def test_texts_are_put_in_once_and_braces_stay() -> None:
    templates = Templates([*AXES, "judge", "teacher"], None)
    filled = templates.fill("teacher", problem=r"{problem} \frac{1}{2} {other_problem}")
    assert filled.startswith(r"{problem} \frac{1}{2} {other_problem}")
    assert filled.endswith(r"within \boxed{}.")


def test_a_users_template_replaces_one_and_must_have_its_places(tmp_path: Path) -> None:
    (tmp_path / "teacher.txt").write_text("Solve {problem}")
    mine, built_in = (Templates(["teacher", "judge"], each) for each in (str(tmp_path), None))
    assert mine.fill("teacher", problem="x") == "Solve x"
    assert mine.sha256("teacher") != built_in.sha256("teacher")
    assert mine.sha256("judge") == built_in.sha256("judge")
    (tmp_path / "judge.txt").write_text("Judge {problem} by {other_problem}")
    with pytest.raises(ConfigError, match=r"judge.txt: must have the places \{problem\}"):
        Templates(["judge"], str(tmp_path))
