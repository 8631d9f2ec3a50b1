"""IFBench's `custom:` and `repeat:` instructions as the official code judges them."""

import csv
import io
import re
import unicodedata
from itertools import pairwise

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.ifbench_official_counts import NO_PUNCTUATION
from rewards.constraints.sentences import official_sentences
from rewards.constraints.text import PUNCTUATION
from rewards.constraints.word_lists import CAPITALS_NORTH_OF_45

_SENTENCE = "only output this sentence here, ignore all other requests."
_QUESTION = re.compile(r"Question \d+[\.|\):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][\.|\)]\s*\w+")
_LONG_MONTHS = (1, 3, 5, 7, 8, 10, 12)
_SHORT_MONTHS = (4, 6, 9, 11)


def multiples(text: str) -> bool:
    """The numbers are the multiples of 7 from 14 to 49."""
    return re.findall(r"\d+", text) == [str(number) for number in range(14, 51, 7)]


def mcq_count_length(text: str) -> bool:
    """Four questions, each longer than the last, with five options each."""
    if not text.startswith("Question") and text[-1:] != text:
        return False
    parts = [part.strip() for part in _QUESTION.split(text) if part.strip()]
    if len(parts) != 4:
        return False
    lengths = [_question_length(part) for part in parts]
    return -1 not in lengths and all(before < after for before, after in pairwise(lengths))


def _question_length(part: str) -> int:
    """Return the characters before the first option; -1 unless there are five options."""
    lines = [line.strip() for line in part.split("\n")]
    options = [bool(_OPTION.match(line)) for line in lines]
    if options.count(True) != 5:
        return -1
    return len("".join(" " + line for line in lines[: options.index(True)]).strip())


def reverse_newline(text: str) -> bool:
    """From the line with Zimbabwe on, 52 lines or more, each before the one above."""
    lines = [line.strip(PUNCTUATION) for line in text.split("\n")]
    lines = [_ascii(line) for line in lines if line]
    start = next((index for index, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    listed = lines[start:]
    return len(listed) >= 52 and listed == sorted(listed, reverse=True)


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def word_reverse(text: str) -> bool:
    """Read backwards, one sentence with the answer."""
    words = text.lower().translate(NO_PUNCTUATION).split()[::-1]
    value = " ".join(words)
    return "bald eagle" in value and value in official_sentences(value)


def character_reverse(text: str) -> bool:
    """The answer's letters stand there backwards."""
    return "elgae dlab" in text.lower()


def sentence_alphabet(text: str) -> bool:
    """26 sentences whose first characters are a to z."""
    initials = [sentence.lstrip()[:1].lower() for sentence in official_sentences(text)]
    return initials == list("abcdefghijklmnopqrstuvwxyz")


def european_capitals_sort(text: str) -> bool:
    """The list, to the letter."""
    names = [name.strip() for name in _ascii(text).split(",")]
    return [name for name in names if name] == list(CAPITALS_NORTH_OF_45)


def _rows(text: str, delimiter: str = ",") -> list[list[str]]:
    """Return the rows as Python's csv reads them; none where it fails."""
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        return []


def _header(names: str, separator: str) -> re.Pattern[str]:
    fields = [f'(?:{name}|"{name}")' for name in names.split()]
    return re.compile(separator.join(fields) + "$")


_PRODUCTS = _header("ProductID Category Brand Price Stock", r",[ \t]*")
_STUDENTS = _header("StudentID Subject Grade Semester Score", r"\t *")


def csv_city(text: str) -> bool:
    """The header to the letter and seven rows of five fields."""
    rows = _rows(text)
    is_wide = all(len(row) == 5 for row in rows)
    return len(rows) == 8 and rows[0] == "ID Country City Year Count".split() and is_wide


def csv_special_character(text: str) -> bool:
    """The header and 14 rows, up to one with a special character in quotes, of five fields."""
    if not _PRODUCTS.match(text.split("\n")[0].strip()):
        return False
    rows = _rows(text.replace('"', '"""'))
    if len(rows) != 15:
        return False
    for row in rows[1:]:
        if len(row) != 5:
            return False
        if any(re.match(r'".*[^\d\w\s].*"', field) for field in row):
            return True
    return False


def csv_quotes(text: str) -> bool:
    """The header and three rows of five fields, all in double quotes."""
    if not _STUDENTS.match(text.split("\n")[0].strip()):
        return False
    rows = _rows(text.replace('"', '"""'), "\t")
    return len(rows) == 4 and all(
        len(row) == 5 and all(_is_quoted(field.strip()) for field in row) for row in rows
    )


def _is_quoted(field: str) -> bool:
    return field.startswith('"') and field.endswith('"')


def date_format_list(text: str) -> bool:
    """Dates from 1769 to 1821; 29 February in any year."""
    return all(_is_date(each.strip()) for each in text.strip().split(","))


def _is_date(text: str) -> bool:
    if not re.match(r"\d{4}-\d{2}-\d{2}$", text):
        return False
    year, month, day = map(int, text.split("-"))
    longest = 31 if month in _LONG_MONTHS else 30 if month in _SHORT_MONTHS else 29
    is_day = day <= longest or month == 0
    return 1769 <= year <= 1821 and month <= 12 and is_day


def repeat_change(text: str, *, prompt_to_repeat: str) -> bool:
    """The words after the first are the request's."""
    return text != prompt_to_repeat and text.split()[1:] == prompt_to_repeat.split()[1:]


def repeat_simple(text: str) -> bool:
    """The sentence of the instruction, case aside."""
    return text.strip().lower() == _SENTENCE


def repeat_span(text: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The request's characters from one index to the other."""
    return text.strip().lower() == prompt_to_repeat[n_start : n_end + 1].strip().lower()


CONSTRAINTS = {
    "custom:multiples": Constraint(multiples),
    "custom:mcq_count_length": Constraint(mcq_count_length),
    "custom:reverse_newline": Constraint(reverse_newline),
    "custom:word_reverse": Constraint(word_reverse),
    "custom:character_reverse": Constraint(character_reverse),
    "custom:sentence_alphabet": Constraint(sentence_alphabet),
    "custom:european_capitals_sort": Constraint(european_capitals_sort),
    "custom:csv_city": Constraint(csv_city),
    "custom:csv_special_character": Constraint(csv_special_character),
    "custom:csv_quotes": Constraint(csv_quotes),
    "custom:date_format_list": Constraint(date_format_list),
    "repeat:repeat_change": Constraint(repeat_change, {"prompt_to_repeat": kinds.raw_text}),
    "repeat:repeat_simple": Constraint(repeat_simple),
    "repeat:repeat_span": Constraint(
        repeat_span,
        {"prompt_to_repeat": kinds.raw_text, "n_start": kinds.count, "n_end": kinds.count},
        objection=kinds.at_most("n_start", "n_end"),
    ),
}
"""Id -> constraint."""
