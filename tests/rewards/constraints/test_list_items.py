"""Items of lists, and lines of prose that begin like one."""

import pytest

from rewards.constraints.list_items import list_items


@pytest.mark.parametrize(
    ("text", "num_items"),
    [
        ("1. a\n2. b", 2),
        ("1. a\n1. b", 2),
        ("10. a\n9. b\n8. c", 3),
        ("1. only", 1),
        ("A. x\nB. y", 2),
        ("a) only", 1),
        ("(a) x\n(b) y", 2),
        ("I. x\nII. y\nIII. z\nIV. w", 4),
        ("h. x\ni. y\nj. z", 3),
        ("- a\n* b\n\u2022 c", 3),
        ("1. a\n   a. x\n   b. y\n2. b", 4),
        ("1. a\n   1. x\n   2. y\n   3. z\n2. b", 5),
    ],
)
def test_items_in_order_count(text, num_items):
    assert len(list_items(text)) == num_items


@pytest.mark.parametrize(
    "text",
    [
        "So did\nI. Then we left.",
        "J. Smith left\nand so on.",
        "It was in\n1984. That was it.",
        "(c) Acme",
        "* * *\n- - -",
        "- .\n- !",
    ],
)
def test_prose_rules_and_empty_items_do_not(text):
    assert list_items(text) == []
