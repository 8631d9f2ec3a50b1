"""What is taken from a model's lines about claims, and what is not."""

from pathlib import Path

import pytest

from mgpo.config.errors import ConfigError
from mgpo.data.claim_prompts import (
    ClaimTemplates,
    Extracted,
    read_extraction,
    read_solution,
    read_verdict,
)

WELL_FORMED = "CLAIM 1: 2 + 2 = 4\nCLAIM 2: \\frac{4}{2} = 2\nANSWER: 2"


@pytest.mark.parametrize(
    "text",
    [
        WELL_FORMED,
        f"<think>CLAIM 1: not this\nANSWER: 7</think>\n{WELL_FORMED}\n",
        f"Here are the claims:\n\n{WELL_FORMED}",
        "**CLAIM 1:** 2 + 2 = 4\n\n**Claim 2**: \\frac{4}{2} = 2\n**Answer: 2**",
    ],
)
def test_lines_of_the_form_are_read(text: str) -> None:
    assert read_extraction(text, 5) == Extracted(("2 + 2 = 4", "\\frac{4}{2} = 2"), "2", 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do that.",
        "CLAIM 1: a\nCLAIM 2: b",  # no answer
        "CLAIM 1: a\nANSWER:",
        "CLAIM 2: a\nANSWER: 2",  # does not begin with 1
        "CLAIM 1: a\nCLAIM 1: b\nANSWER: 2",
        "CLAIM 1: a\nwhich goes on here\nANSWER: 2",  # a claim of two lines: only half of it
        "CLAIM 1:\nANSWER: 2",
        "ANSWER: 2\nCLAIM 1: a",
        "CLAIM 1: a\nANSWER: 2\nANSWER: 3",
        "CLAIM 1: a\nANSWER: 2\nI hope that helps.",
        '{"claims": ["a"], "answer": "2"}',
        "1. a\nAnswer is 2",
        f"CLAIM {'1' * 5000}: a\nCLAIM 2: b\nANSWER: 2",
    ],
)
def test_other_lines_are_not_guessed_at(text: str) -> None:
    assert read_extraction(text, 5) is None


def test_a_long_line_is_read_at_once() -> None:
    spaced = "a" + 200_000 * " " + "b"
    assert read_extraction(f"CLAIM 1: {spaced}\nANSWER: {spaced}", 5) == Extracted(
        (spaced,), spaced, 1
    )


def test_claims_beyond_those_asked_for_are_left_out_and_counted() -> None:
    assert read_extraction(WELL_FORMED, 1) == Extracted(("2 + 2 = 4",), "2", 2)


def test_no_claims_and_no_answer_can_be_said() -> None:
    assert read_extraction("ANSWER: 2", 5) == Extracted((), "2", 0)
    assert read_extraction("CLAIM 1: a\nANSWER: None.", 5) == Extracted(("a",), None, 1)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It is so.\nVERDICT: true", True),
        ("VERDICT: FALSE.", False),
        ("**Verdict:** true", True),
        ("<think>VERDICT: false</think>VERDICT: true\n", True),
        ("VERDICT: true\nVERDICT: false", None),
        ("VERDICT: true\nThat is sure.", None),
        ("VERDICT: true or false", None),
        ("VERDICT: maybe", None),
        ("VERDICT:", None),
        ("true", None),
        ("", None),
    ],
)
def test_a_verdict_is_one_last_line(text: str, verdict: bool | None) -> None:
    assert read_verdict(text) is verdict


def test_a_solution_is_what_follows_the_thinking() -> None:
    assert read_solution("<think>hm</think>\nSo 4.\n") == "So 4."
    assert read_solution("<think>so 4</think>") == "<think>so 4</think>"
    assert read_solution(" So 4. ") == "So 4."


def test_templates_take_texts_as_they_are() -> None:
    templates = ClaimTemplates(None)
    asked = templates.extract(r"What is \frac{1}{2}{claim}?", "{problem} {x}", 3)
    assert r"What is \frac{1}{2}{claim}?" in asked
    assert "\n{problem} {x}\n" in asked
    assert "up to CLAIM 3" in asked
    assert "\n1 + 1 = 2\n" in templates.verify("p", "s", "1 + 1 = 2")


def test_a_users_template_stands_in_for_one(tmp_path: Path) -> None:
    (tmp_path / "verify.txt").write_text("{problem} | {solution} | {claim}\n")
    templates = ClaimTemplates(str(tmp_path))
    assert templates.verify("p", "s", "c") == "p | s | c"
    assert templates.texts["extract"] == ClaimTemplates(None).texts["extract"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{problem}", "must have the places {claim} and {problem}; it may have {solution}"),
        ("{problem} {claim} {num_claims}", "and no other of them"),
    ],
)
def test_a_template_without_its_places_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "verify.txt").write_text(text)
    with pytest.raises(ConfigError, match=said.replace("{", r"\{")):
        ClaimTemplates(str(tmp_path))
    with pytest.raises(ConfigError, match="no such folder"):
        ClaimTemplates(str(tmp_path / "nowhere"))
