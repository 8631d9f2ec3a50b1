"""IFBench's instructions in the default mode: right, wrong, and the neighbours of both."""

import pytest
from constraint_checks import is_met

from rewards.constraints.ifbench import CONSTRAINTS
from rewards.constraints.word_lists import AFRICAN_COUNTRIES, CAPITALS_NORTH_OF_45

KEYWORDS = {f"keyword{n}": word for n, word in enumerate(["art", "sun", "oak", "elm", "fig"], 1)}
COUNTED = " ".join(
    " ".join([word] * times) for word, times in zip(KEYWORDS.values(), (1, 2, 3, 5, 7), strict=True)
)
PALINDROMES = "racecar level rotator deified reviver civic kayak radar refer rotor"
STORY = " ".join(f"{letter}a walked on." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
COUNTRIES = sorted(
    (country.split("|")[0].strip() for country in AFRICAN_COUNTRIES),
    key=lambda name: name.casefold(),
    reverse=True,
)
CAPITALS = ", ".join(CAPITALS_NORTH_OF_45)
CITIES = "ID,Country,City,Year,Count\n" + "\n".join(f"{n},Peru,Lima,2020,{n}" for n in range(1, 8))
PRODUCTS = "ProductID,Category,Brand,Price,Stock\n" + "\n".join(
    f"{n},Tea,Leaf,3.5,{n}" for n in range(1, 14)
)
STUDENTS = "\n".join(
    "\t".join(f'"{field}"' for field in row)
    for row in [
        ("StudentID", "Subject", "Grade", "Semester", "Score"),
        *((str(n), "Art", "A", "1", "90") for n in range(1, 4)),
    ]
)
QUIZ = "\n\n".join(
    f"Question {n}. Who painted this{' very' * n} famous picture?\n"
    + "\n".join(f"{letter}) Painter {letter}" for letter in "ABCDE")
    for n in range(1, 5)
)
SENTENCE = "Only output this sentence here, ignore all other requests."
TEMPLATE = "My Answer: yes\nMy Conclusion: it is so\nFuture Outlook: good"
REQUEST = {"prompt_to_repeat": "Write a short poem about rain."}
SPAN = {"prompt_to_repeat": "zero one two three four", "n_start": 1, "n_end": 3}

RIGHT = [
    ("Six words are in this one.", "count:word_count_range", {"min_words": 6, "max_words": 6.0}),
    ("The cat and the dog.", "count:unique_word_count", {"N": 4}),
    ("Tea and cake, but no milk; or so.", "count:conjunctions", {"small_n": 4}),
    ("Mia's friend *Leo* came.", "count:person_names", {"N": 2}),
    ("3 pens, 1,000 books, 2.5 litres of H2O", "count:numbers", {"N": 3}),
    ("It's mine/yours, and they're ours.", "count:pronouns", {"N": 5}),
    ("Hi, you: come; go. Now! Where? What?!", "count:punctuation", {}),
    (COUNTED, "count:keywords_multiple", KEYWORDS),
    ("one \u732b two \u72ac", "count:words_japanese", {"N": 2}),
    ("Cats chase mice.", "ratio:stop_words", {"percentage": 0}),
    (
        "the sea is blue and wide",
        "ratio:overlap",
        {"reference_text": "The sea is blue and green", "percentage": 75},
    ),
    ('He said "Yes." It rained. Why?', "ratio:sentence_type", {}),
    ("It rains. Why? Stop!", "ratio:sentence_balance", {}),
    ("Cats nap. Dogs run. Fish hop.", "ratio:sentence_words", {}),
    ("It is old. The COPPER roof.", "sentence:keyword", {"N": 2.0, "word": "copper"}),
    ("We go. We go home now.", "sentence:increment", {"small_n": 2}),
    ("We walk. Big bears bite. She sells sea shells.", "sentence:alliteration_increment", {}),
    ("You zip apples", "words:alphabet", {}),
    ("Xenia yells, zebras amble; bears can't", "words:alphabet", {}),
    ("A big man\nran in.", "words:vowel", {}),
    ("Lamps shine, 24 stars sparkle.", "words:consonants", {}),
    (PALINDROMES, "words:palindrome", {}),
    ("We say: I'll go up.", "words:prime_lengths", {}),
    ("Don't stop.", "words:start_verb", {}),
    ("**Consider** this.", "words:start_verb", {}),
    ("Running is fun.", "words:start_verb", {}),
    ("The cat saw the dog.", "words:repeats", {"small_n": 2}),
    ("Cats under rocks.", "words:odd_even_syllables", {}),
    ("We like rain. Rain, then snow! Snow is cold.", "words:last_first", {}),
    ("Rain falls, says the rain.\nSnow, too: snow", "words:paragraph_last_first", {}),
    ("Big cats don't eat.", "words:no_consecutive", {}),
    (
        "One here. It is, well, amber now.",
        "words:keywords_specific_position",
        {"keyword": "amber", "n": 2, "m": 4},
    ),
    ("The amber stone, an amber lamp.", "words:words_position", {"keyword": "Amber"}),
    (":) a (b [c {d (e [f])}])", "format:parentheses", {}),
    ('She said, "He told me \'it says "no" there\' today."', "format:quotes", {}),
    ("**Maybe.**", "format:options", {"options": "yes/no/maybe"}),
    ("I don\u2019t know", "format:options", {"options": "I know or I don't know"}),
    ("b)", "format:options", {"options": "a), b), c), d)"}),
    ("C++", "format:options", {"options": "C/C++"}),
    ("One,\n\ntwo\n- three.", "format:newline", {}),
    ("Hello there! \U0001f600 It is 1\ufe0f\u20e3. Bye \U0001f1e9\U0001f1ea.", "format:emoji", {}),
    ("a\n\n b\n\n\n  c", "format:line_indent", {}),
    ("\ta\n\t\tb", "format:line_indent", {}),
    ('"To be" means to live. \u201cNot\u201d denies it.', "format:quote_unquote", {}),
    ("SEPARATOR tea\nSEPARATOR milk", "format:list", {"sep": "SEPARATOR"}),
    ("- tea\n- well-made", "format:list", {"sep": "-"}),
    (
        "# A\n<i>Rain helps.</i> Here is why.\n## B\n<em>So does sun.</em>\nYes.",
        "format:thesis",
        {},
    ),
    (
        "Section 1\n<i>Rain helps.</i> Yes.\n\nSection 2:\n<i>Sun</i> too.",
        "format:thesis",
        {},
    ),
    ("* a\n  - b\n* c\n  - d\n  - e", "format:sub-bullets", {}),
    ("It rains. It pours.\n\n* one\n\n* two", "format:no_bullets_bullets", {}),
    ("The Lord of the Rings Isn't Short", "format:title_case", {}),
    (TEMPLATE, "format:output_template", {}),
    ("nospace!\n", "format:no_whitespace", {}),
    ("14, 21, 28, 35, 42, 49", "custom:multiples", {}),
    (QUIZ, "custom:mcq_count_length", {}),
    ("\n".join(COUNTRIES), "custom:reverse_newline", {}),
    (
        "Here they are:\n" + "\n".join(f"{n}. {name}" for n, name in enumerate(COUNTRIES, 1)),
        "custom:reverse_newline",
        {},
    ),
    ("Eagle bald the is animal national The.", "custom:word_reverse", {}),
    (".elgae dlab eht si tI", "custom:character_reverse", {}),
    (STORY.replace("Ba", '"Ba'), "custom:sentence_alphabet", {}),
    (CAPITALS + ".", "custom:european_capitals_sort", {}),
    (CAPITALS.replace("Prague", "Kyiv, Prague"), "custom:european_capitals_sort", {}),
    (f"```csv\n{CITIES}\n```", "custom:csv_city", {}),
    (PRODUCTS + '\n14,Tea,"Leaf & Co",3.5,1', "custom:csv_special_character", {}),
    (STUDENTS, "custom:csv_quotes", {}),
    ("1796-05-10, 1805-12-02.", "custom:date_format_list", {}),
    ("Compose a short poem about rain.", "repeat:repeat_change", REQUEST),
    (f'"{SENTENCE}"', "repeat:repeat_simple", {}),
    ("one two three", "repeat:repeat_span", SPAN),
]

WRONG = [
    ("Too few words here.", "count:word_count_range", {"min_words": 5, "max_words": 7}),
    ("the The THE, the!", "count:unique_word_count", {"N": 2}),
    ("And and and, AND", "count:conjunctions", {"small_n": 2}),
    ("Leonardo flew to Miami.", "count:person_names", {"N": 1}),
    ("from 3-4 on", "count:numbers", {"N": 1}),
    ("The cat sat.", "count:pronouns", {"N": 1}),
    ("Hi, you: come; go. What?!", "count:punctuation", {}),
    ("start" + COUNTED[3:], "count:keywords_multiple", KEYWORDS),
    ("one two three \u732b", "count:words_japanese", {"N": 2}),
    ("too short", "count:words_japanese", {"N": 5}),
    ("It is what it is.", "ratio:stop_words", {"percentage": 50}),
    ("...", "ratio:stop_words", {"percentage": 100}),
    (
        "another text on other things",
        "ratio:overlap",
        {"reference_text": "The sea is blue and green", "percentage": 75},
    ),
    ("no sentence ends here", "ratio:sentence_type", {}),
    ("no sentence ends here", "ratio:sentence_balance", {}),
    ("Cats nap. Cats run. Cats hop.", "ratio:sentence_words", {}),
    ("The copper roof. It leaks.", "sentence:keyword", {"N": 2, "word": "copper"}),
    ("It is old. Coppersmiths.", "sentence:keyword", {"N": 2, "word": "copper"}),
    ("Only one sentence.", "sentence:increment", {"small_n": 2}),
    ("We go. We go home.", "sentence:increment", {"small_n": 2}),
    ("She sells sea shells. We walk.", "sentence:alliteration_increment", {}),
    ("All cats", "words:alphabet", {}),
    ("Apple", "words:alphabet", {}),
    ("1 b", "words:alphabet", {}),
    ("A big red hut or so", "words:vowel", {}),
    ("One.\n\nTwo.", "words:vowel", {}),
    ("Lamps are bright.", "words:consonants", {}),
    ("level " * 10, "words:palindrome", {}),
    ("aaaaa bbbbb", "words:palindrome", {}),
    ("We were here.", "words:prime_lengths", {}),
    ("...", "words:prime_lengths", {}),
    ("The start is here.", "words:start_verb", {}),
    ("Water is wet.", "words:start_verb", {}),
    ("The cat and the dog and the bird.", "words:repeats", {"small_n": 2}),
    ("Cats run far.", "words:odd_even_syllables", {}),
    ("We like rain. Snow is cold.", "words:last_first", {}),
    ("Only one.", "words:last_first", {}),
    ("Rain falls.", "words:paragraph_last_first", {}),
    ("Rain", "words:paragraph_last_first", {}),
    ("Big bears eat.", "words:no_consecutive", {}),
    ("Apple", "words:no_consecutive", {}),
    (
        "One here. It is amber now.",
        "words:keywords_specific_position",
        {"keyword": "amber", "n": 2, "m": 4},
    ),
    ("Amber stones lay here.", "words:words_position", {"keyword": "amber"}),
    ("a (b [c {d}])", "format:parentheses", {}),
    ("((((( ()", "format:parentheses", {}),
    ("([{(<)}])", "format:parentheses", {}),
    ("It's the dogs' and cats' \"own\" day, isn't it?", "format:quotes", {}),
    ("Yes, because.", "format:options", {"options": "yes/no/maybe"}),
    ("or", "format:options", {"options": "for/against"}),
    ("One two\nthree", "format:newline", {}),
    ("Apple\n", "format:newline", {}),
    ("Hello there! Bye \U0001f600", "format:emoji", {}),
    ("Hello there!", "format:emoji", {}),
    ("a\n b\n b", "format:line_indent", {}),
    ("a single line", "format:line_indent", {}),
    ('He said "yes" and "no".', "format:quote_unquote", {}),
    ("no quotes at all", "format:quote_unquote", {}),
    ("well-made and hand-made", "format:list", {"sep": "-"}),
    ("Intro. <i>Rain helps.</i> Here is why.", "format:thesis", {}),
    ("<i> </i> text", "format:thesis", {}),
    ("* a\n  - b\n* c", "format:sub-bullets", {}),
    ("no bullets - none", "format:sub-bullets", {}),
    ("It rains.\n* one\n* two", "format:no_bullets_bullets", {}),
    ("It Rains today.", "format:title_case", {}),
    (TEMPLATE.replace("good", ""), "format:output_template", {}),
    ("Sure! " + TEMPLATE, "format:output_template", {}),
    ("no space\there", "format:no_whitespace", {}),
    ("7, 14, 21, 28, 35, 42, 49", "custom:multiples", {}),
    (QUIZ.replace("this very very", "this"), "custom:mcq_count_length", {}),
    (QUIZ.replace("E) Painter E", "", 1), "custom:mcq_count_length", {}),
    ("\n".join(COUNTRIES[::-1]), "custom:reverse_newline", {}),
    ("\n".join(COUNTRIES[:50]), "custom:reverse_newline", {}),
    ("The national animal is the bald eagle.", "custom:word_reverse", {}),
    ("It is the bald eagle.", "custom:character_reverse", {}),
    (STORY.replace("Za", "Ya"), "custom:sentence_alphabet", {}),
    (CAPITALS.replace("Oslo, ", ""), "custom:european_capitals_sort", {}),
    (CITIES + "\n8,Peru,Lima,2020,8", "custom:csv_city", {}),
    (PRODUCTS + '\n14,Tea,"Leaf",3.5,1', "custom:csv_special_character", {}),
    (STUDENTS.replace('"Art"', "Art"), "custom:csv_quotes", {}),
    ("1797-02-29, 1805-12-02", "custom:date_format_list", {}),
    ("Dates: 1796-05-10, 1805-12-02", "custom:date_format_list", {}),
    ("Write a short poem about rain.", "repeat:repeat_change", REQUEST),
    ("Compose a short poem about rain. Drip.", "repeat:repeat_change", REQUEST),
    (SENTENCE + " Sure.", "repeat:repeat_simple", {}),
    ("ero", "repeat:repeat_span", SPAN),
    ("zero one two", "repeat:repeat_span", SPAN),
]


@pytest.mark.parametrize(("text", "name", "kwargs"), RIGHT)
def test_what_follows_the_instruction_is_right(text, name, kwargs):
    assert is_met(text, name, **kwargs)


@pytest.mark.parametrize(("text", "name", "kwargs"), WRONG)
def test_what_does_not_follow_it_is_wrong(text, name, kwargs):
    assert not is_met(text, name, **kwargs)


def test_every_instruction_has_cases_of_both_kinds():
    assert {name for _, name, _ in RIGHT} == {name for _, name, _ in WRONG} == set(CONSTRAINTS)


def test_there_are_58_instructions_with_the_official_ids():
    from rewards.constraints.ifbench_official import CONSTRAINTS as OFFICIAL

    assert set(CONSTRAINTS) == set(OFFICIAL)
    assert len(CONSTRAINTS) == 58
