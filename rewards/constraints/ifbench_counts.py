"""IFBench's `count:`, `ratio:` and `sentence:` instructions, checked by what they mean."""

from itertools import groupby, pairwise

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.sentences import sentences
from rewards.constraints.text import (
    count_keyword,
    keyword_pattern,
    lower_words,
    plain_letters,
    straight,
    tokens,
    words,
)
from rewards.constraints.word_lists import CONJUNCTIONS, PERSON_NAMES, PRONOUNS, STOP_WORDS

_NUMBER = regex.compile(r"(?<![\p{L}\p{N}_])(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)")
_JAPANESE = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Han}]")
_INTERROBANG = regex.compile(r"\?!|!\?|\u203d|\u2048|\u2049")
_MARKS = frozenset(".,!?;:")
_TIMES = (1, 2, 3, 5, 7)
_TOLERANCE = 2.0
"""Percentage points by which a trigram overlap may differ."""
_KINDS = {".": "declarative", "!": "exclamatory"}
_MARK_OF = {
    ".": ".",
    "\u3002": ".",
    "\u2026": ".",
    "\u0964": ".",
    "!": "!",
    "\uff01": "!",
    "?": "?",
    "\uff1f": "?",
    "\u061f": "?",
}


def word_count_range(text: str, *, min_words: int, max_words: int) -> bool:
    """Between so many words, limits included."""
    return min_words <= len(tokens(text)) <= max_words


def unique_word_count(text: str, *, N: int) -> bool:
    """At least so many different words, case ignored."""
    return len(set(lower_words(text))) >= N


def conjunctions(text: str, *, small_n: int) -> bool:
    """At least so many different coordinating conjunctions."""
    return len(CONJUNCTIONS & set(lower_words(text))) >= small_n


def person_names(text: str, *, N: int) -> bool:
    """At least so many different names of the list, as whole words with their capital."""
    present = {part for word in words(text) for part in (word, *regex.split(r"['-]", word))}
    return len(present & set(PERSON_NAMES)) >= N


def numbers(text: str, *, N: int) -> bool:
    """Exactly so many numbers in digits; 1,000 and 3.5 are one each, 3-4 two, H2O none."""
    return len(_NUMBER.findall(text)) == N


def pronouns(text: str, *, N: int) -> bool:
    """At least so many pronouns; that of a contraction (it's) counts."""
    return sum(word.split("'")[0] in PRONOUNS for word in lower_words(text)) >= N


def punctuation(text: str) -> bool:
    """Each of . , ! ? ; : and the interrobang, whose two marks don't count a second time."""
    interrobang = _INTERROBANG.search(text)
    if interrobang is None:
        return False
    return set(text[: interrobang.start()] + text[interrobang.end() :]) >= _MARKS


def keywords_multiple(
    text: str, *, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    """The five keywords stand there once, twice, three, five and seven times, as whole words."""
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    return all(
        count_keyword(text, keyword) == times
        for keyword, times in zip(keywords, _TIMES, strict=True)
    )


def words_japanese(text: str, *, N: int) -> bool:
    """Every n-th word has kana or kanji, and there is such a word."""
    spaced = [word for word in text.split() if any(map(str.isalnum, word))]
    positions = spaced[N - 1 :: N]
    return bool(positions) and all(_JAPANESE.search(word) for word in positions)


def stop_words(text: str, *, percentage: float) -> bool:
    """No more than so many of a hundred words are stop words."""
    found = tokens(text)
    num_stop_words = sum(word.lower() in STOP_WORDS for word in found)
    return bool(found) and 100 * num_stop_words <= percentage * len(found)


def overlap(text: str, *, reference_text: str, percentage: float) -> bool:
    """That share of the text's different trigrams of words is in the reference, within 2 points."""
    own, given = _trigrams(text), _trigrams(reference_text)
    return bool(own) and abs(100 * len(own & given) / len(own) - percentage) <= _TOLERANCE


def _trigrams(text: str) -> set[tuple[str, ...]]:
    found = lower_words(text)
    return set(zip(found, found[1:], found[2:], strict=False))


def _kinds(text: str) -> list[str]:
    """Return how each sentence ends, closing quotes, brackets, emphasis and emojis aside."""
    found = []
    for sentence in sentences(text):
        tail = sentence[len(sentence) - _count_after_letters(sentence) :]
        marks = "".join(_MARK_OF.get(character, "") for character in tail)
        found.append("interrogative" if "?" in marks else _KINDS.get(marks[-1:], ""))
    return found


def _count_after_letters(sentence: str) -> int:
    return next((i for i, each in enumerate(reversed(sentence)) if each.isalnum()), len(sentence))


def sentence_type(text: str) -> bool:
    """Twice as many statements as questions, and a question."""
    found = _kinds(text)
    return 0 < found.count("interrogative") * 2 == found.count("declarative")


def sentence_balance(text: str) -> bool:
    """As many statements as questions as exclamations, and one of each."""
    found = _kinds(text)
    return (
        0 < found.count("declarative") == found.count("interrogative") == found.count("exclamatory")
    )


def sentence_words(text: str) -> bool:
    """Three sentences with the same number of characters, and no word twice."""
    found = sentences(text)
    all_words = lower_words(text)
    is_even = len({len(sentence) for sentence in found}) == 1
    return len(found) == 3 and is_even and len(all_words) == len(set(all_words))


def sentence_keyword(text: str, *, N: int, word: str) -> bool:
    """The n-th sentence has the keyword as a whole word."""
    found = sentences(text)
    return len(found) >= N and keyword_pattern(word).search(straight(found[N - 1])) is not None


def sentence_increment(text: str, *, small_n: int) -> bool:
    """Two sentences or more, each with exactly so many more words than the one before."""
    lengths = [len(words(sentence)) for sentence in sentences(text)]
    return len(lengths) > 1 and all(
        after - before == small_n for before, after in pairwise(lengths)
    )


def alliteration_increment(text: str) -> bool:
    """Two sentences or more, each with a longer run of words with one initial."""
    runs = [_longest_run(sentence) for sentence in sentences(text)]
    return len(runs) > 1 and all(before < after for before, after in pairwise(runs))


def _longest_run(sentence: str) -> int:
    initials = [plain_letters(word)[:1] for word in words(sentence)]
    return max((len(list(run)) for _, run in groupby(initials)), default=0)


_NUMBER_OF = {"N": kinds.count}

CONSTRAINTS = {
    "count:word_count_range": Constraint(
        word_count_range,
        {"min_words": kinds.count, "max_words": kinds.count},
        objection=kinds.at_most("min_words", "max_words"),
    ),
    "count:unique_word_count": Constraint(unique_word_count, _NUMBER_OF),
    "count:conjunctions": Constraint(conjunctions, {"small_n": kinds.count}),
    "count:person_names": Constraint(person_names, _NUMBER_OF),
    "count:numbers": Constraint(numbers, _NUMBER_OF),
    "count:pronouns": Constraint(pronouns, _NUMBER_OF),
    "count:punctuation": Constraint(punctuation),
    "count:keywords_multiple": Constraint(
        keywords_multiple, {f"keyword{number}": kinds.text for number in range(1, 6)}
    ),
    "count:words_japanese": Constraint(words_japanese, {"N": kinds.position}),
    "ratio:stop_words": Constraint(stop_words, {"percentage": kinds.percentage}),
    "ratio:overlap": Constraint(
        overlap, {"reference_text": kinds.text, "percentage": kinds.percentage}
    ),
    "ratio:sentence_type": Constraint(sentence_type),
    "ratio:sentence_balance": Constraint(sentence_balance),
    "ratio:sentence_words": Constraint(sentence_words),
    "sentence:keyword": Constraint(sentence_keyword, {"N": kinds.position, "word": kinds.text}),
    "sentence:increment": Constraint(sentence_increment, {"small_n": kinds.count}),
    "sentence:alliteration_increment": Constraint(alliteration_increment),
}
"""Id -> constraint."""
