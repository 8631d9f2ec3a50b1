"""What checks are built of: sentences, words, syllables, verbs, languages."""

import pytest

from rewards.constraints.language import is_english, is_in_language
from rewards.constraints.sentences import official_sentences, sentences
from rewards.constraints.syllables import count_syllables
from rewards.constraints.text import count_keyword, squeezed, strict_json, words
from rewards.constraints.treebank import official_words
from rewards.constraints.verbs import can_be_verb


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith met J. R. Jones at 5 p.m. in Rome. They talked.", 2),
        ("It was in the U.S. The end came, e.g. in May, etc. and so on.", 2),
        ("1. Buy milk.\n2. Buy tea.", 2),
        ('She asked, "Really?" He nodded. "Yes!" he said.', 3),
        ("No. 5 is alive. No. I am not.", 3),
        ("Wait... what? Yes!", 2),
        ("all lower case. it works.", 2),
        ("It costs $3.50 at example.com. Fine.", 2),
        ("\u8fd9\u662f\u4e00\u3002\u8fd9\u662f\u4e8c\uff01\u597d\u5417\uff1f", 3),
        ("\u092f\u0939 \u090f\u0915 \u0939\u0948\u0964 \u0926\u094b\u0964", 2),
        ("What?! No!!", 2),
        ("***\n---\n", 0),
        ("no mark at all", 1),
    ],
)
def test_sentences_are_counted_as_people_do(text, expected):
    assert len(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Mr. Hill. The end", ["Mr. Hill.", "The end"]),
        ("1. Buy milk.", ["1.", "Buy milk."]),
        ("a.b! c", ["a.b!", "c"]),
        ("So what?! Go on", ["So what?!", "Go on"]),
        ("(It rains.) It pours.", ["(It rains.)", "It pours."]),
    ],
)
def test_the_official_splitter_is_followed(text, expected):
    assert official_sentences(text) == expected


def test_no_letter_is_lost_between_sentences():
    text = 'One. "Two?" (Three!) 4.5 is five... Six.'
    for split in (sentences, official_sentences):
        assert "".join("".join(split(text)).split()) == "".join(text.split())


def test_the_official_words_are_the_treebank_s():
    assert official_words("I can't; cannot, U.S. law (well-known) 'tis $5.") == [
        "I", "ca", "n't", ";", "can", "not", ",", "U.S.", "law", "(", "well-known", ")",
        "'t", "is", "$", "5", ".",
    ]  # fmt: skip


def test_words_keep_apostrophes_and_hyphens():
    assert words("It\u2019s _well-known_ - 'quoted' 3rd.") == [
        "It's",
        "well-known",
        "quoted",
        "3rd",
    ]


def test_keywords_are_whole_words_in_any_case():
    assert count_keyword("Art, art-house, *ART* and start or arty", "art") == 3
    assert count_keyword("C++ and C+++", "c++") == 2


def test_json_is_strict():
    assert strict_json('```JSON\n{"a": 1}\n```') == {"a": 1}
    assert strict_json("1" * 5000) == float("inf")
    for text in ("{'a': 1}", "NaN", "", '```\n{"a": 1}', "[1,]"):
        with pytest.raises(ValueError, match=r"."):
            strict_json(text)


def test_squeezed_texts_compare_without_case_and_spaces():
    assert squeezed(" It\u2019s\n\tOK ") == "it's ok"


SYLLABLES = {
    1: "the make walked stones eyes school dream cried through",
    2: "table handles wanted houses being client poem lion",
    3: "created museum radio usual serious audience video beautiful",
    4: "society experience information material",
}


@pytest.mark.parametrize(
    ("number", "word"),
    [(number, word) for number, row in SYLLABLES.items() for word in row.split()],
)
def test_syllables_are_counted_by_spelling(number, word):
    assert count_syllables(word) == number


def test_forms_of_verbs_are_known():
    for word in ["Write", "writes", "writing", "stopped", "tries", "don't", "began", "planning"]:
        assert can_be_verb(word), word
    for word in ["The", "beautiful", "of", "apple", "is-not"]:
        assert not can_be_verb(word), word


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "Bonjour, comment allez-vous aujourd'hui ?"),
        ("pt", "Hoje vamos \u00e0 praia com os amigos."),
        ("hi", "\u0939\u092e \u091c\u093e \u0930\u0939\u0947 \u0939\u0948\u0902\u0964"),
        ("ko", "\uc624\ub298 \uc6b0\ub9ac\ub294 \ubc14\ub2f7\uac00\uc5d0 \uac11\ub2c8\ub2e4."),
        ("ru", "\u043c\u044b \u0438\u0434\u0435\u043c \u043d\u0430 \u043f\u043b\u044f\u0436."),
    ],
)  # fmt: skip
def test_languages_are_told_apart(code, text):
    assert is_in_language(text, code)
    assert not is_in_language(text, "en")
    assert not is_english(text)
    assert not is_in_language("The train leaves tomorrow morning.", code)
