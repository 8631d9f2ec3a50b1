"""`compat`: the verdicts of the official code, its faults included."""

import json
from pathlib import Path

import pytest
from constraint_checks import is_met

from rewards.constraints.reward import CATALOGUES, grade

SAMPLE = Path(__file__).with_name("ifeval_official_sample.jsonl")
ROWS = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("mode", ["strict", "loose"])
def test_the_official_verdicts_on_released_responses_are_reproduced(mode):
    for row in ROWS:
        pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
        reference = {"constraints": [{"id": name, "kwargs": kwargs} for name, kwargs in pairs]}
        outcome = grade(row["response"], reference, compat="ifeval", strict=mode == "strict")
        assert outcome.detail["verdicts"] == row[f"{mode}_verdicts"], row


def test_the_sample_covers_all_ids():
    ids = {name for row in ROWS for name in row["instruction_id_list"]}
    assert ids == set(CATALOGUES["ifeval"])


PARTED = [
    # (text, id, kwargs, compat, the official verdict), each the opposite of the default's
    ("Lanterns hung there.", "keywords:existence", {"keywords": ["lantern"]}, "ifeval", True),
    ("We code in C.", "keywords:existence", {"keywords": ["C++"]}, "ifeval", True),
    (
        "\n\nWeather.\n\nBring a coat.",
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "weather"},
        "ifeval",
        False,
    ),
    (
        "#one #two #three",
        "keywords:letter_frequency",
        {"letter": "#", "let_relation": "at least", "let_frequency": 3},
        "ifeval",
        False,
    ),
    ("12345", "language:response_language", {"language": "de"}, "ifeval", True),
    ("NaN", "detectable_format:json_format", {}, "ifeval", True),
    ("P.P.S. only", "detectable_content:postscript", {"postscript_marker": "P.S."}, "ifeval", True),
    (
        "start sun sun oak oak oak elm elm elm elm elm fig fig fig fig fig fig fig",
        "count:keywords_multiple",
        {"keyword1": "art", "keyword2": "sun", "keyword3": "oak", "keyword4": "elm"}
        | {"keyword5": "fig"},
        "ifbench",
        True,
    ),
    ("Cats nap. Cats run. Cats hop.", "ratio:sentence_words", {}, "ifbench", True),
    ("no sentence ends", "ratio:sentence_type", {}, "ifbench", True),
    ("And and, and", "count:conjunctions", {"small_n": 3}, "ifbench", True),
    ("from 3-4 on", "count:numbers", {"N": 1}, "ifbench", True),
    ("Don't Go", "format:title_case", {}, "ifbench", False),
    ("level " * 10, "words:palindrome", {}, "ifbench", True),
    ("no bullets", "format:sub-bullets", {}, "ifbench", True),
    ("a\n\n\n b", "format:line_indent", {}, "ifbench", False),
    (
        "one two three",
        "repeat:repeat_span",
        {"prompt_to_repeat": "zero one two three", "n_start": 1, "n_end": 3},
        "ifbench",
        False,
    ),
    ("d).", "format:options", {"options": "a), b), c), d)"}, "ifbench", False),
]


@pytest.mark.parametrize(("text", "name", "kwargs", "compat", "official"), PARTED)
def test_known_faults_are_kept_in_compat_and_repaired_by_default(
    text, name, kwargs, compat, official
):
    assert is_met(text, name, compat=compat, **kwargs) is official
    assert is_met(text, name, **kwargs) is not official


BOTH_WAYS = [
    # (id, kwargs, a text that the official code accepts, one that it does not)
    ("count:word_count_range", {"min_words": 2, "max_words": 3}, "a-b c", "a"),
    ("count:unique_word_count", {"N": 2}, "a, b", "a A, a."),
    ("count:person_names", {"N": 2}, "Mia and Leo", "Miami and Leo"),
    ("count:pronouns", {"N": 2}, "He/she ran", "The cat ran"),
    ("count:punctuation", {}, "a, b; c: d. e? f! g?!", "a, b; c: d. g?!"),
    ("count:words_japanese", {"N": 2}, "a \u732b b 12", "a b"),
    ("ratio:stop_words", {"percentage": 50}, "the cat", "the the cat"),
    ("ratio:overlap", {"reference_text": "abcdef", "percentage": 50}, "abcdxy", "uvwxyz"),
    ("ratio:sentence_balance", {}, "Go. Why? Yes!", "Go. Why? Yes?"),
    ("sentence:keyword", {"N": 2, "word": "copper"}, "One. Copper here.", "Copper. One."),
    ("sentence:increment", {"small_n": 1}, "One. Two words.", "One. Two."),
    ("sentence:alliteration_increment", {}, "We go. Big bears bite.", "Big bears. We go."),
    ("words:alphabet", {}, "Yes, zebras amble", "Yes amble"),
    ("words:vowel", {}, "a big rug", "a big red rug"),
    ("words:consonants", {}, "lamps shine", "lamps are"),
    ("words:prime_lengths", {}, "we say", "this here"),
    ("words:start_verb", {}, "Go home", "The home"),
    ("words:repeats", {"small_n": 1}, "a b", "a b A"),
    ("words:odd_even_syllables", {}, "cats under rocks", "cats run"),
    ("words:last_first", {}, "We like rain. Rain falls.", "We like rain. Snow falls."),
    ("words:paragraph_last_first", {}, "rain is rain.\nsnow and snow", "snow, snow,"),
    ("words:no_consecutive", {}, "a b a", "big bears"),
    (
        "words:keywords_specific_position",
        {"keyword": "amber", "n": 1, "m": 3},
        "It, is amber.",
        "It amber is.",
    ),
    ("words:words_position", {"keyword": "amber"}, "an amber or amber one.", "an amber one of it."),
    ("format:parentheses", {}, "([{([])}])", "([{(<)}])"),
    ("format:quotes", {}, '"a \'b "c" b\' a"', "\"a 'b' a\""),
    ("format:newline", {}, "one,\ntwo", "one two"),
    ("format:emoji", {}, "Hi. \U0001f600", "Hi. Bye \U0001f600"),
    ("format:quote_unquote", {}, '"a" is b', 'it is "a"'),
    ("format:list", {"sep": "-"}, "a-b-c", "a-b"),
    ("format:thesis", {}, "x <i>a</i> b", "x <i>a</i>"),
    ("format:no_bullets_bullets", {}, "One! Two!\n* a\n* b", "One. Two.\n\nThree.\n* a\n* b"),
    (
        "format:output_template",
        {},
        "Future Outlook: My Conclusion: My Answer:",
        "My Answer: My Conclusion:",
    ),
    ("format:no_whitespace", {}, "ab", "ab\n"),
    ("custom:multiples", {}, "14 21 28 35 42 49", "14 21"),
    ("custom:word_reverse", {}, "eagle bald a", "a bald eagle"),
    ("custom:character_reverse", {}, "ELGAE DLAB", "bald eagle"),
    ("custom:date_format_list", {}, "1801-02-29", "1801-13-01"),
    ("repeat:repeat_change", {"prompt_to_repeat": "a b"}, "x b", "a b"),
    (
        "repeat:repeat_simple",
        {},
        "only output this sentence here, ignore all other requests.",
        "yes",
    ),
]


@pytest.mark.parametrize(("name", "kwargs", "followed", "not_followed"), BOTH_WAYS)
def test_the_official_reading_of_ifbench(name, kwargs, followed, not_followed):
    assert is_met(followed, name, compat="ifbench", **kwargs)
    assert not is_met(not_followed, name, compat="ifbench", **kwargs)


ROWS_OF_CSV = "\n".join(f"{n},Peru,Lima,2020,{n}" for n in range(1, 8))


def test_the_official_reading_of_tables_lists_and_quizzes():
    city = "ID,Country,City,Year,Count\n" + ROWS_OF_CSV
    assert is_met(city, "custom:csv_city", compat="ifbench")
    assert not is_met(f"```\n{city}\n```", "custom:csv_city", compat="ifbench")
    header = "ProductID,Category,Brand,Price,Stock\n"
    goods = header + "\n".join(['1,Tea,"Leaf & Co",3,1', *(["2,Tea,Leaf,3,1"] * 13)])
    assert is_met(goods, "custom:csv_special_character", compat="ifbench")
    assert not is_met(goods.replace('"', ""), "custom:csv_special_character", compat="ifbench")
    fields = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"'
    marks = "\n".join([fields, *(['"1"\t"Art"\t"A"\t"1"\t"9"'] * 3)])
    assert is_met(marks, "custom:csv_quotes", compat="ifbench")
    assert not is_met(marks.replace('"9"', "9"), "custom:csv_quotes", compat="ifbench")
    names = [f"Country {letter}" for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBA"]
    lines = ["Zimbabwe", *(f"{name} {half}" for name in names for half in "ba")]
    assert is_met("\n".join(lines), "custom:reverse_newline", compat="ifbench")
    assert not is_met("\n".join(lines[:50]), "custom:reverse_newline", compat="ifbench")
    quiz = "\n".join(
        f"Question {n}. Who{' very' * n}?\n" + "\n".join(f"{letter}) x" for letter in "ABCDE")
        for n in range(1, 5)
    )
    assert is_met(quiz, "custom:mcq_count_length", compat="ifbench")
    assert not is_met("Quiz\n" + quiz, "custom:mcq_count_length", compat="ifbench")
    story = " ".join(f"{letter}a went." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert is_met(story, "custom:sentence_alphabet", compat="ifbench")
    assert not is_met(story[8:], "custom:sentence_alphabet", compat="ifbench")
    assert not is_met("Oslo, Paris", "custom:european_capitals_sort", compat="ifbench")
