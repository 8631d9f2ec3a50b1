"""Checks see what a reader sees: no invisible characters, one code for each letter."""

import pytest
from constraint_checks import is_met
from hypothesis import given
from hypothesis import strategies as st

from rewards.constraints.as_seen import as_seen

FORBIDDEN = {"forbidden_words": ["rock", "caf\u00e9"]}
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        "ro\u200bck",
        "r\u00adock",
        "ro\u2060ck",
        "ro\u200dck",
        "ro\ufe0fck",
        "ro\u034fck",
        "\uff52\uff4f\uff43\uff4b",
        "\U0001d42b\U0001d428\U0001d41c\U0001d424",
        "cafe\u0301",
    ],
)
def test_nothing_hides_a_forbidden_word(text):
    assert not is_met(f"A {text} here.", "keywords:forbidden_words", **FORBIDDEN)
    assert is_met("A ro\u200bcket here.", "keywords:forbidden_words", **FORBIDDEN)


def test_kwargs_are_seen_alike():
    assert is_met("caf\u00e9", "keywords:existence", keywords=["cafe\u0301"])
    letter = {"letter": "e\u0301", "let_relation": "exactly", "let_frequency": 2}
    assert is_met("e\u0301t\u00e9", "keywords:letter_frequency", **letter)
    assert is_met("e\u0301a", "pattern:present", pattern="^e\u0301")
    assert is_met("e\u0301a", "length:characters", max_characters=2)


@pytest.mark.parametrize("text", [PERSIAN, FAMILY, FLAG, "1\ufe0f\u20e3", "\u2764\ufe0f"])
def test_what_joins_letters_and_emojis_stays(text):
    assert as_seen(text) == text


def test_an_emoji_of_several_characters_ends_a_sentence():
    assert is_met(f"We won {FAMILY}. We sang {FLAG}.", "format:emoji")


@pytest.mark.parametrize(
    ("text", "letter", "times"),
    [
        ("Stra\u00dfe", "s", 1),
        ("Stra\u00dfe", "\u00df", 1),
        ("STRASSE", "\u00df", 0),
        ("\u03a3\u03af\u03c2", "\u03c3", 2),
    ],
)
def test_a_letter_is_counted_as_one_letter(text, letter, times):
    kwargs = {"letter": letter, "let_relation": "exactly", "let_frequency": times}
    assert is_met(text, "keywords:letter_frequency", **kwargs)


@given(st.text(max_size=60))
def test_seen_twice_is_seen_once(text):
    assert as_seen(as_seen(text)) == as_seen(text)
