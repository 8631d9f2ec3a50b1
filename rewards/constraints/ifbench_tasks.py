"""IFBench's `custom:` and `repeat:` instructions: whole tasks with one right shape of answer."""

import csv
import io
import unicodedata
from datetime import date
from itertools import pairwise

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.sentences import sentences
from rewards.constraints.text import plain_letters, squeezed, straight, unfenced, words
from rewards.constraints.word_lists import AFRICAN_COUNTRIES, CAPITALS_NORTH_OF_45

_MULTIPLES = [str(number) for number in range(14, 51, 7)]
_SENTENCE = "Only output this sentence here, ignore all other requests."
_QUESTION = regex.compile(r"^[^\S\n]*[*#_ ]*Question\b[\s*_]*+\d*[\s*_.:;)|-]*", regex.MULTILINE)
_OPTION = regex.compile(r"[\s*_-]*\(?[A-Ea-e][.):][*_]*\s*\S")
_DATE = regex.compile(r"(\d{4})-(\d{2})-(\d{2})")
_LIFE = (1769, 1821)
_LIST_MARK = regex.compile(r"^\s*(?:[*+-]|\d+[.)])?\s*")
_SPECIAL = regex.compile(r"[^\w\s]")
_WRAPPERS = " \t\n\r\"'`*_"
_MIN_COUNTRIES = 52
"""As in the official code: which countries count is disputed."""


def multiples(text: str) -> bool:
    """The numbers are the multiples of 7 from 14 to 49, in order, and no others."""
    found: list[str] = regex.findall(r"\d+", text)
    return found == _MULTIPLES


def mcq_count_length(text: str) -> bool:
    """Four questions, each begun with the label and longer than the last, with five options."""
    parts = _QUESTION.split(text.strip())
    if parts[0].strip() or len(parts) != 5:
        return False
    lengths = [_question_length(part) for part in parts[1:]]
    return 0 not in lengths and all(before < after for before, after in pairwise(lengths))


def _question_length(part: str) -> int:
    """Return the characters of a question before its options; 0 unless it has five."""
    options = [bool(_OPTION.match(line)) for line in part.splitlines()]
    if options.count(True) != 5:
        return 0
    return len(" ".join(" ".join(part.splitlines()[: options.index(True)]).split()))


def reverse_newline(text: str) -> bool:
    """The countries of Africa from Z to A, one a line; a line of introduction may come first."""
    given = [_LIST_MARK.sub("", line).strip(" .,;*_") for line in text.splitlines()]
    names = [_folded(line).removeprefix("the ") for line in given if line]
    if names and names[0] not in _COUNTRIES:
        names = names[1:]
    known = [_COUNTRIES.get(name) for name in names]
    is_whole = len(set(known)) == len(known) >= _MIN_COUNTRIES and None not in known
    return is_whole and names == sorted(names, reverse=True)


def _folded(name: str) -> str:
    return plain_letters(straight(name)).strip()


_COUNTRIES = {
    _folded(name).removeprefix("the "): index
    for index, country in enumerate(AFRICAN_COUNTRIES)
    for name in country.split("|")
}


def word_reverse(text: str) -> bool:
    """Read from the last word to the first, the answer is there; read forwards it is not."""
    found = [word.casefold() for word in words(text)]
    return "bald eagle" in " ".join(found[::-1]) and "bald eagle" not in " ".join(found)


def character_reverse(text: str) -> bool:
    """Read from the last letter to the first, the answer is there; read forwards it is not."""
    given = squeezed(text)
    return "bald eagle" in given[::-1] and "bald eagle" not in given


def sentence_alphabet(text: str) -> bool:
    """26 sentences whose first words begin with a to z; opening quotes don't count."""
    initials = [plain_letters(word)[:1] for found in sentences(text) for word in words(found)[:1]]
    return "".join(initials) == "abcdefghijklmnopqrstuvwxyz"


def european_capitals_sort(text: str) -> bool:
    """The capitals north of 45 degrees from north to south, with or without Kyiv."""
    given = unicodedata.normalize("NFKD", text.strip(_WRAPPERS).rstrip("."))
    plain = given.encode("ascii", "ignore").decode("ascii")
    capitals = [name.strip().removesuffix(" City") for name in plain.split(",")]
    with_kyiv = list(CAPITALS_NORTH_OF_45)
    with_kyiv.insert(with_kyiv.index("Prague"), "Kyiv")
    capitals = ["Kyiv" if name == "Kiev" else name for name in capitals]
    return capitals in (list(CAPITALS_NORTH_OF_45), with_kyiv)


def _table(text: str, delimiter: str) -> list[list[str]]:
    """Return the rows of a CSV text, bare or in one fence; none where it can't be read."""
    rows = csv.reader(io.StringIO(unfenced(text)), delimiter=delimiter, skipinitialspace=True)
    try:
        return [[field.strip() for field in row] for row in rows if row]
    except csv.Error:
        return []


def _is_table(rows: list[list[str]], header: list[str], num_rows: int) -> bool:
    """Whether a header and so many rows are there, each as wide, nothing left empty."""
    is_whole = all(len(row) == len(header) and all(row) for row in rows)
    return is_whole and rows[:1] == [header] and len(rows) == num_rows + 1


def csv_city(text: str) -> bool:
    """The header and seven rows of five fields, separated by commas."""
    return _is_table(_table(text, ","), ["ID", "Country", "City", "Year", "Count"], 7)


def csv_special_character(text: str) -> bool:
    """The header and 14 rows; a field in double quotes has a character that is no letter."""
    header = ["ProductID", "Category", "Brand", "Price", "Stock"]
    if not _is_table(_table(text, ","), header, 14):
        return False
    quoted = regex.findall(r'(?:^|,)[ \t]*"((?:[^"\n]|"")*)"', unfenced(text), regex.MULTILINE)
    return any(_SPECIAL.search(field.replace('""', '"')) for field in quoted)


def csv_quotes(text: str) -> bool:
    """The header and three rows, separated by tabs, each field in double quotes."""
    header = ["StudentID", "Subject", "Grade", "Semester", "Score"]
    if not _is_table(_table(text, "\t"), header, 3):
        return False
    fields = [field for line in unfenced(text).splitlines() for field in line.split("\t")]
    return all(regex.fullmatch(r'\s*"[^"]*"\s*', field) for field in fields if field.strip())


def date_format_list(text: str) -> bool:
    """Dates of Napoleon's life as YYYY-MM-DD, separated by commas, and nothing else."""
    given = text.strip(_WRAPPERS).rstrip(".").split(",")
    return len(given) > 1 and all(_is_date(each.strip()) for each in given)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    try:
        date(year, month, day)
    except ValueError:
        return False
    return _LIFE[0] <= year <= _LIFE[1]


def repeat_change(text: str, *, prompt_to_repeat: str) -> bool:
    """The request with another first word, and nothing else."""
    given, request = text.strip(_WRAPPERS).split(), prompt_to_repeat.strip(_WRAPPERS).split()
    if not given or not request:
        return False
    return given[0].casefold() != request[0].casefold() and given[1:] == request[1:]


def repeat_simple(text: str) -> bool:
    """The sentence of the instruction, and nothing else."""
    return squeezed(text).strip(_WRAPPERS) == squeezed(_SENTENCE)


def repeat_span(text: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The request's words from one index to the other, both included, counted from 0."""
    span = " ".join(prompt_to_repeat.split()[n_start : n_end + 1])
    return squeezed(text).strip(_WRAPPERS) == squeezed(span).strip(_WRAPPERS) != ""


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
    "repeat:repeat_change": Constraint(repeat_change, {"prompt_to_repeat": kinds.text}),
    "repeat:repeat_simple": Constraint(repeat_simple),
    "repeat:repeat_span": Constraint(
        repeat_span,
        {"prompt_to_repeat": kinds.text, "n_start": kinds.count, "n_end": kinds.count},
        objection=kinds.at_most("n_start", "n_end"),
    ),
}
"""Id -> constraint."""
