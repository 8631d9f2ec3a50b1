"""The 25 instructions of IFEval with the verdicts of the official code, faults included.

Behaviour after google-research/instruction_following_eval; written anew. Known faults that are
kept: keywords are regular expressions that match inside words, blank first paragraphs shift the
count, undetectable languages pass. Where the official code draws a random letter (keys 1122 and
1129), the verdict is that of most letters.
"""

import json
import re
import string
from collections import Counter

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.language import official_code
from rewards.constraints.sentences import official_sentences
from rewards.constraints.text import PATTERN_TIMEOUT_S, compare, search
from rewards.constraints.treebank import official_words

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_DOUBLE = re.compile(r"\*\*[^\n*]*\*\*")
_SINGLE = re.compile(r"\*[^\n*]*\*")
_STARS = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
"""One * alone on a line takes the next line with it."""
_DASHES = re.compile(r"^[^\S\n]*-", re.MULTILINE)


def keyword_existence(text: str, *, keywords: tuple[str, ...]) -> bool:
    """Each keyword, as a pattern, matches somewhere."""
    return all(search(keyword, text, regex.IGNORECASE) for keyword in keywords)


def keyword_frequency(text: str, *, keyword: str, relation: str, frequency: int) -> bool:
    """The keyword, as a pattern, matches so many times."""
    found = regex.findall(keyword.strip(), text, flags=regex.IGNORECASE, timeout=PATTERN_TIMEOUT_S)
    return compare(len(found), relation, frequency)


def forbidden_words(text: str, *, forbidden_words: tuple[str, ...]) -> bool:
    """No word, as a pattern between word boundaries, matches."""
    return not any(search(rf"\b{word}\b", text, regex.IGNORECASE) for word in forbidden_words)


def letter_frequency(text: str, *, letter: str, let_relation: str, let_frequency: int) -> bool:
    """The letter occurs so many times; for what is no ASCII letter, most letters do."""
    counts = Counter(text.lower())
    drawn = letter.strip().lower()
    letters = drawn if drawn in string.ascii_lowercase else string.ascii_lowercase
    verdicts = [compare(counts[each], let_relation, let_frequency) for each in letters]
    return sum(verdicts) * 2 > len(verdicts)


def response_language(text: str, *, language: str) -> bool:
    """The detected language is the one asked for, or none is detected."""
    return official_code(text) in (language, None)


def number_sentences(text: str, *, relation: str, num_sentences: int) -> bool:
    """So many sentences."""
    return compare(len(official_sentences(text)), relation, num_sentences)


def number_words(text: str, *, relation: str, num_words: int) -> bool:
    r"""So many runs of `\w`."""
    return compare(len(re.findall(r"\w+", text)), relation, num_words)


def number_paragraphs(text: str, *, num_paragraphs: int) -> bool:
    """Exactly so many parts between `***`, wherever it stands."""
    return _count_parts(re.split(r"\s?\*\*\*\s?", text)) == num_paragraphs


def _count_parts(parts: list[str]) -> int:
    """Count the parts; -1 where one between two others is blank."""
    is_blank = [not part.strip() for part in parts]
    return -1 if any(is_blank[1:-1]) else is_blank.count(False)


def nth_paragraph_first_word(
    text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    """Exactly so many paragraphs; the n-th, blank ones counted, begins with the word."""
    parts = text.split("\n\n")
    num_filled = sum(bool(part.strip()) for part in parts)
    if nth_paragraph > num_filled or not parts[nth_paragraph - 1].strip():
        return False
    word = parts[nth_paragraph - 1].split()[0].lstrip("'").lstrip('"')
    start = re.split(r"[.,?!'\"]", word, maxsplit=1)[0]
    return num_filled == num_paragraphs and start.lower() == first_word.lower()


def number_placeholders(text: str, *, num_placeholders: int) -> bool:
    """At least so many pairs of square brackets on one line."""
    return sum(map(_count_brackets, text.split("\n"))) >= num_placeholders


def _count_brackets(line: str) -> int:
    # As the pattern \[.*?\] does, but without its quadratic time on brackets that never close.
    count = start = 0
    while (opening := line.find("[", start)) >= 0 and (closing := line.find("]", opening)) >= 0:
        count, start = count + 1, closing + 1
    return count


def postscript(text: str, *, postscript_marker: str) -> bool:
    """The marker stands anywhere."""
    marker = postscript_marker.strip()
    pattern = _POSTSCRIPTS.get(marker, marker.lower())
    return search(pattern, text.lower(), regex.MULTILINE)


def number_bullet_lists(text: str, *, num_bullets: int) -> bool:
    """Exactly so many lines begin with one * or with -."""
    return len(_STARS.findall(text)) + len(_DASHES.findall(text)) == num_bullets


def constrained_response(text: str) -> bool:
    """One of the fixed answers stands anywhere."""
    return any(answer in text for answer in _ANSWERS)


def number_highlighted_sections(text: str, *, num_highlights: int) -> bool:
    """At least so many spans between asterisks, bold ones counted apart."""
    single = sum(bool(found.strip("*").strip()) for found in _SINGLE.findall(text))
    double = sum(bool(found[2:-2].strip()) for found in _DOUBLE.findall(text))
    return single + double >= num_highlights


def multiple_sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    """At least so many markers with a number."""
    pattern = rf"\s?{section_spliter.strip()}\s?\d+\s?"
    found = regex.findall(pattern, text, timeout=PATTERN_TIMEOUT_S)
    return len(found) >= num_sections


def json_format(text: str) -> bool:
    """What is left without fences is JSON, in Python's reading."""
    value = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        value = value.removeprefix(fence)
    try:
        json.loads(value.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def title(text: str) -> bool:
    """Something on one line stands in double angle brackets."""
    return any(_in_brackets(line).lstrip("<").rstrip(">").strip() for line in text.split("\n"))


def _in_brackets(line: str) -> str:
    """Return what stands from the first << to the last >> with something between."""
    opening, closing = line.find("<<"), line.rfind(">>")
    return line[opening : closing + 2] if 0 <= opening < closing - 2 else ""


def two_responses(text: str) -> bool:
    """Six asterisks separate exactly two texts that differ."""
    parts = text.split("******")
    answers = {part.strip() for part in parts if part.strip()}
    return _count_parts(parts) == 2 and len(answers) == 2


def repeat_prompt(text: str, *, prompt_to_repeat: str) -> bool:
    """The text begins with the request."""
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


def end_checker(text: str, *, end_phrase: str) -> bool:
    """The text ends with the phrase, quotes set aside."""
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def quotation(text: str) -> bool:
    """A double quote stands at each end."""
    given = text.strip()
    return len(given) > 1 and given[0] == given[-1] == '"'


def english_capital(text: str) -> bool:
    """All capitals; English or undetectable."""
    return text.isupper() and official_code(text) in ("en", None)


def english_lowercase(text: str) -> bool:
    """No capitals; English or undetectable."""
    return text.islower() and official_code(text) in ("en", None)


def capital_word_frequency(text: str, *, capital_relation: str, capital_frequency: int) -> bool:
    """So many words of the Treebank tokenizer are all capitals."""
    capitals = [word for word in official_words(text) if word.isupper()]
    return compare(len(capitals), capital_relation, capital_frequency)


def no_comma(text: str) -> bool:
    """No comma."""
    return "," not in text


CONSTRAINTS = {
    "keywords:existence": Constraint(keyword_existence, {"keywords": kinds.patterns}),
    "keywords:frequency": Constraint(
        keyword_frequency,
        {
            "keyword": kinds.pattern,
            "relation": kinds.official_relation,
            "frequency": kinds.count,
        },
    ),
    "keywords:forbidden_words": Constraint(forbidden_words, {"forbidden_words": kinds.patterns}),
    "keywords:letter_frequency": Constraint(
        letter_frequency,
        {
            "letter": kinds.letter,
            "let_relation": kinds.official_relation,
            "let_frequency": kinds.count,
        },
    ),
    "language:response_language": Constraint(response_language, {"language": kinds.language}),
    "length_constraints:number_sentences": Constraint(
        number_sentences,
        {"relation": kinds.official_relation, "num_sentences": kinds.count},
        is_approximate=True,
    ),
    "length_constraints:number_paragraphs": Constraint(
        number_paragraphs, {"num_paragraphs": kinds.count}
    ),
    "length_constraints:number_words": Constraint(
        number_words, {"relation": kinds.official_relation, "num_words": kinds.count}
    ),
    "length_constraints:nth_paragraph_first_word": Constraint(
        nth_paragraph_first_word,
        {
            "num_paragraphs": kinds.count,
            "nth_paragraph": kinds.position,
            "first_word": kinds.raw_text,
        },
        objection=kinds.at_most("nth_paragraph", "num_paragraphs"),
    ),
    "detectable_content:number_placeholders": Constraint(
        number_placeholders, {"num_placeholders": kinds.count}
    ),
    "detectable_content:postscript": Constraint(postscript, {"postscript_marker": kinds.pattern}),
    "detectable_format:number_bullet_lists": Constraint(
        number_bullet_lists, {"num_bullets": kinds.count}
    ),
    "detectable_format:constrained_response": Constraint(constrained_response),
    "detectable_format:number_highlighted_sections": Constraint(
        number_highlighted_sections, {"num_highlights": kinds.count}
    ),
    "detectable_format:multiple_sections": Constraint(
        multiple_sections, {"section_spliter": kinds.pattern, "num_sections": kinds.count}
    ),
    "detectable_format:json_format": Constraint(json_format),
    "detectable_format:title": Constraint(title),
    "combination:two_responses": Constraint(two_responses),
    "combination:repeat_prompt": Constraint(repeat_prompt, {"prompt_to_repeat": kinds.text}),
    "startend:end_checker": Constraint(end_checker, {"end_phrase": kinds.raw_text}),
    "startend:quotation": Constraint(quotation),
    "change_case:capital_word_frequency": Constraint(
        capital_word_frequency,
        {"capital_relation": kinds.official_relation, "capital_frequency": kinds.count},
    ),
    "change_case:english_capital": Constraint(english_capital),
    "change_case:english_lowercase": Constraint(english_lowercase),
    "punctuation:no_comma": Constraint(no_comma),
}
"""Id -> constraint, with the official code's arguments."""
