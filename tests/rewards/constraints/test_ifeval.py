"""IFEval's instructions in the default mode: right, wrong, and the neighbours of both."""

import pytest
from constraint_checks import is_met

GERMAN = "Der Zug kommt morgen um acht Uhr an, und wir holen dich am Bahnhof ab."

RIGHT = [
    ("A lantern by the Harbor.", "keywords:existence", {"keywords": ["lantern", "harbor"]}),
    ("We code in C++ here.", "keywords:existence", {"keywords": ["C++"]}),
    ("Open at 9 a.m. daily", "keywords:existence", {"keywords": ["a.m."]}),
    ("It is _amber_ (amber).", "keywords:existence", {"keywords": ["amber"]}),
    ("a new\ncar", "keywords:existence", {"keywords": ["new car"]}),
    ("don\u2019t go", "keywords:existence", {"keywords": ["don't"]}),
    ("\u4f60\u597d\u4e16\u754c", "keywords:existence", {"keywords": ["\u4e16\u754c"]}),
    ("The rocket flew.", "keywords:forbidden_words", {"forbidden_words": ["rock"]}),
    (
        "River, river; RIVER!",
        "keywords:frequency",
        {"keyword": "river", "relation": "at least", "frequency": 3},
    ),
    (
        "rivers and a riverbed",
        "keywords:frequency",
        {"keyword": "river", "relation": "less than", "frequency": 1},
    ),
    (
        "one river",
        "keywords:frequency",
        {"keyword": "river", "relation": "exactly", "frequency": 1},
    ),
    (
        "Zany zebras doze",
        "keywords:letter_frequency",
        {"letter": "Z", "let_relation": "at least", "let_frequency": 3},
    ),
    (
        "#a #b",
        "keywords:letter_frequency",
        {"letter": "#", "let_relation": "at least", "let_frequency": 2},
    ),
    (GERMAN, "language:response_language", {"language": "de"}),
    (f"```\nx = the_value + 1\n```\n{GERMAN}", "language:response_language", {"language": "de"}),
    (
        "\u6211\u4eec\u660e\u5929\u65e9\u4e0a\u89c1\u3002",
        "language:response_language",
        {"language": "zh-cn"},
    ),
    (
        "Dr. Smith met Mr. Jones at 5 p.m. in the U.S. office. They talked.",
        "length_constraints:number_sentences",
        {"relation": "exactly", "num_sentences": 2},
    ),
    (
        "a b c d e",
        "length_constraints:number_words",
        {"relation": "at least", "num_words": 5},
    ),
    (
        "One.\n\n***\n\nTwo.",
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
    ),
    ("One.\n***\nTwo.\n***", "length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("It is ***vital***.", "length_constraints:number_paragraphs", {"num_paragraphs": 1}),
    (
        "\n\nWeather is mild.\n\nBring a coat.",
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "weather"},
    ),
    (
        "Hi.\n \n**Weather:** mild",
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Weather"},
    ),
    (
        "Dear [name], meet at [place 2].",
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
    ),
    (
        "Thanks.\n\nP.S. Bring the keys.",
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
    ),
    (
        "Thanks.\n\n**P.S.** Bring the keys.",
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
    ),
    (
        "Thanks. P.P.S. Keys too.",
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
    ),
    ("* a\n- b\n  * c", "detectable_format:number_bullet_lists", {"num_bullets": 3}),
    ("**Bold** start\n- b\n---\n-5 C", "detectable_format:number_bullet_lists", {"num_bullets": 1}),
    ("I say: My answer is no.", "detectable_format:constrained_response", {}),
    (
        "*one* and **two words**",
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
    ),
    (
        "SECTION 1\nHello.\nSECTION 2\nBye.",
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
    ),
    ('{"a": [1, 2]}', "detectable_format:json_format", {}),
    ('```json\n{"a": 1}\n```', "detectable_format:json_format", {}),
    ("```\n[1]\n```", "detectable_format:json_format", {}),
    ("<<A Day>>\nSun.", "detectable_format:title", {}),
    ("Train.\n******\nBus.", "combination:two_responses", {}),
    ("Train.******Bus.", "combination:two_responses", {}),
    ("Name  two.\nRed, blue.", "combination:repeat_prompt", {"prompt_to_repeat": "Name two."}),
    ('Done. "Any questions?"', "startend:end_checker", {"end_phrase": "Any questions?"}),
    ("Done. **Any questions?**\n", "startend:end_checker", {"end_phrase": "any questions?"}),
    ('"All of it."', "startend:quotation", {}),
    ("\u201cAll of it.\u201d", "startend:quotation", {}),
    ("WE GO TO THE SEA AND WE STAY THERE ALL DAY.", "change_case:english_capital", {}),
    ("YES.", "change_case:english_capital", {}),
    ("we go to the sea and stay there all day.", "change_case:english_lowercase", {}),
    (
        "NASA's men and the U.N. said NO",
        "change_case:capital_word_frequency",
        {"capital_relation": "at least", "capital_frequency": 3},
    ),
    ("No comma here; none.", "punctuation:no_comma", {}),
]

WRONG = [
    ("A lantern.", "keywords:existence", {"keywords": ["lantern", "harbor"]}),
    ("We code in C here.", "keywords:existence", {"keywords": ["C++"]}),
    ("start of the party", "keywords:existence", {"keywords": ["art"]}),
    ("They play Rock.", "keywords:forbidden_words", {"forbidden_words": ["rock"]}),
    ("rock_ing _rock_", "keywords:forbidden_words", {"forbidden_words": ["rock"]}),
    (
        "river river",
        "keywords:frequency",
        {"keyword": "river", "relation": "at least", "frequency": 3},
    ),
    (
        "many letters but #one",
        "keywords:letter_frequency",
        {"letter": "#", "let_relation": "at least", "let_frequency": 2},
    ),
    (
        "The train leaves tomorrow morning at eight.",
        "language:response_language",
        {"language": "de"},
    ),
    ("12345", "language:response_language", {"language": "de"}),
    (
        f"{GERMAN}\nBut the rest of this answer is in English, which was not asked for at all.",
        "language:response_language",
        {"language": "de"},
    ),
    (
        "One. Two. Three.",
        "length_constraints:number_sentences",
        {"relation": "less than", "num_sentences": 3},
    ),
    ("a b c d", "length_constraints:number_words", {"relation": "at least", "num_words": 5}),
    ("One.\n\nTwo.", "length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("One.\n***\n\n***\nTwo.", "length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    (
        "Hi.\n\nWeatherman speaks.",
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weather"},
    ),
    (
        "Weather.\n\nTwo.\n\nThree.",
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "weather"},
    ),
    (
        "Dear (name), see [1], [the site](http://x.org), [] and\n- [x] done",
        "detectable_content:number_placeholders",
        {"num_placeholders": 1},
    ),
    ("Thanks. Bring keys.", "detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("P.S. only this", "detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("Thanks.\n\nP.S.", "detectable_content:postscript", {"postscript_marker": "P.S."}),
    (
        "Thanks.\n\nP.S. Keys.",
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
    ),
    (
        "Thanks.\n\nP.P.S. Keys.",
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
    ),
    ("1. a\n2. b", "detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("* a\n* b\n* c", "detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("Yes, I think so.", "detectable_format:constrained_response", {}),
    (
        "My answer is yes. My answer is no.",
        "detectable_format:constrained_response",
        {},
    ),
    (
        "* item\n* other *\n2*3*4 and **",
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 1},
    ),
    (
        "SECTION 1\nas in SECTION 1 above",
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
    ),
    ("{'a': 1}", "detectable_format:json_format", {}),
    ('Here: {"a": 1}', "detectable_format:json_format", {}),
    ('{"a": NaN}', "detectable_format:json_format", {}),
    ('"just a text"', "detectable_format:json_format", {}),
    ("[" * 5000 + "]" * 5000, "detectable_format:json_format", {}),
    ("# A Day\nSun.", "detectable_format:title", {}),
    ("<< >>\nSun.", "detectable_format:title", {}),
    ("Train.\n******\ntrain.", "combination:two_responses", {}),
    ("A.\n******\nB.\n******\nC.", "combination:two_responses", {}),
    ("A.\n***\nB.", "combination:two_responses", {}),
    ("Red. Name two.", "combination:repeat_prompt", {"prompt_to_repeat": "Name two."}),
    ("Name two.", "combination:repeat_prompt", {"prompt_to_repeat": "Name two."}),
    ("Any questions? Bye.", "startend:end_checker", {"end_phrase": "Any questions?"}),
    ("Many questions?", "startend:end_checker", {"end_phrase": "any questions?"}),
    ("'All of it.'", "startend:quotation", {}),
    ('""', "startend:quotation", {}),
    ("This Is Title Case.", "change_case:english_capital", {}),
    ("WIR FAHREN MORGEN ANS MEER UND BLEIBEN DORT.", "change_case:english_capital", {}),
    ("we saw Paris and the river there.", "change_case:english_lowercase", {}),
    ("123 456", "change_case:english_lowercase", {}),
    (
        "NASA is here",
        "change_case:capital_word_frequency",
        {"capital_relation": "at least", "capital_frequency": 2},
    ),
    ("one, two", "punctuation:no_comma", {}),
    ("1,000", "punctuation:no_comma", {}),
    ("\u4f60\u597d\uff0c\u4e16\u754c", "punctuation:no_comma", {}),
]


@pytest.mark.parametrize(("text", "name", "kwargs"), RIGHT)
def test_what_follows_the_instruction_is_right(text, name, kwargs):
    assert is_met(text, name, **kwargs)


@pytest.mark.parametrize(("text", "name", "kwargs"), WRONG)
def test_what_does_not_follow_it_is_wrong(text, name, kwargs):
    assert not is_met(text, name, **kwargs)


def test_every_instruction_has_cases_of_both_kinds():
    from rewards.constraints.ifeval import CONSTRAINTS

    assert {name for _, name, _ in RIGHT} == {name for _, name, _ in WRONG} == set(CONSTRAINTS)
