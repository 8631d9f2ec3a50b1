"""IFBench's `count:`, `ratio:` and `sentence:` instructions as the official code judges them."""

import re
from itertools import pairwise

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.sentences import official_sentences
from rewards.constraints.text import PUNCTUATION
from rewards.constraints.treebank import official_words
from rewards.constraints.word_lists import CONJUNCTIONS, PERSON_NAMES, PRONOUNS, STOP_WORDS

NO_PUNCTUATION = str.maketrans("", "", PUNCTUATION.strip())
"""Deletes ASCII punctuation: 3.5 becomes 35, don't becomes dont."""
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_TIMES = (1, 2, 3, 5, 7)


def word_count_range(text: str, *, min_words: int, max_words: int) -> bool:
    r"""Between so many runs of `\w`."""
    return min_words <= len(re.findall(r"\w+", text)) <= max_words


def unique_word_count(text: str, *, N: int) -> bool:
    """So many different spaced words; one that is all punctuation counts once."""
    return len({word.strip(PUNCTUATION) for word in text.lower().split()}) >= N


def conjunctions(text: str, *, small_n: int) -> bool:
    """So many different forms: And, and, and `and,` are three."""
    return (
        len({word for word in text.split() if word.strip(PUNCTUATION).lower() in CONJUNCTIONS})
        >= small_n
    )


def person_names(text: str, *, N: int) -> bool:
    """So many different names of the list."""
    return sum(bool(re.search(rf"\b{name}\b", text)) for name in PERSON_NAMES) >= N


def numbers(text: str, *, N: int) -> bool:
    """Exactly so many runs of digits once punctuation is deleted."""
    return len(re.findall(r"\d+", text.translate(NO_PUNCTUATION))) == N


def pronouns(text: str, *, N: int) -> bool:
    """So many tokens are pronouns."""
    found = official_words(text.replace("/", " ").lower())
    return sum(word in PRONOUNS for word in found) >= N


def punctuation(text: str) -> bool:
    """All marks are left once one interrobang is taken out."""
    if not any(mark in text for mark in ("!?", "?!", "\u203d")):
        return False
    rest = text.replace("?!", "", 1)
    if rest == text:
        rest = text.replace("!?", "", 1)
    return set(".,!?;:") <= set(rest)


def keywords_multiple(
    text: str, *, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    """The keywords occur so often, inside words too."""
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    return all(
        text.lower().count(keyword.lower()) == times
        for keyword, times in zip(keywords, _TIMES, strict=True)
    )


def words_japanese(text: str, *, N: int) -> bool:
    """Every n-th spaced word, digits and punctuation aside, has a Japanese character."""
    positions = [word.strip(PUNCTUATION) for word in text.split()[N - 1 :: N]]
    return all(
        _JAPANESE.search(word) is not None for word in positions if word and not word.isdigit()
    )


def stop_words(text: str, *, percentage: float) -> bool:
    """The share of stop words is no larger."""
    found = re.findall(r"\w+", text)
    if not found:
        return False
    return sum(word.lower() in STOP_WORDS for word in found) / len(found) * 100 <= percentage


def overlap(text: str, *, reference_text: str, percentage: float) -> bool:
    """The share of trigrams of characters is within two points."""
    own, given = _trigrams(text), _trigrams(reference_text)
    if not own:
        return False
    return percentage - 2 <= len(own & given) / len(own) * 100 <= percentage + 2


def _trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


def _count_ends(text: str) -> tuple[int, int, int]:
    ends = [sentence[-1:] for sentence in official_sentences(text)]
    return ends.count("."), ends.count("?"), ends.count("!")


def sentence_type(text: str) -> bool:
    """Twice as many final dots as question marks; none of both will do."""
    declarative, interrogative, _ = _count_ends(text)
    return declarative == 2 * interrogative


def sentence_balance(text: str) -> bool:
    """As many of each final mark; none will do."""
    return len(set(_count_ends(text))) == 1


def sentence_words(text: str) -> bool:
    """Three sentences of the same length; words may repeat."""
    found = official_sentences(text)
    return len(found) == 3 and len({len(sentence.strip()) for sentence in found}) == 1


def sentence_keyword(text: str, *, N: float, word: str) -> bool:
    """The n-th sentence has the keyword."""
    found = official_sentences(text)
    index = int(N) - 1
    is_there = len(found) >= N
    pattern = rf"\b{re.escape(word)}\b"
    return is_there and re.search(pattern, found[index], re.IGNORECASE) is not None


def sentence_increment(text: str, *, small_n: int) -> bool:
    """Each sentence has so many more words; a single sentence will do."""
    lengths = [
        len(sentence.translate(NO_PUNCTUATION).split()) for sentence in official_sentences(text)
    ]
    return all(after - before == small_n for before, after in pairwise(lengths))


def alliteration_increment(text: str) -> bool:
    """Each sentence has more alliterating words; a single sentence will do."""
    counts = [_count_alliterating(sentence) for sentence in official_sentences(text)]
    return all(before < after for before, after in pairwise(counts))


def _count_alliterating(sentence: str) -> int:
    stripped = [word.lstrip(PUNCTUATION) for word in sentence.lower().split()]
    initials = [word[0] for word in stripped if word]
    is_pair = [before == after for before, after in pairwise(initials)]
    # The first pair of a run counts its two words, each further pair one.
    num_runs = sum(here and not before for before, here in pairwise([False, *is_pair]))
    return sum(is_pair) + num_runs


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
        overlap, {"reference_text": kinds.raw_text, "percentage": kinds.percentage}
    ),
    "ratio:sentence_type": Constraint(sentence_type, is_approximate=True),
    "ratio:sentence_balance": Constraint(sentence_balance, is_approximate=True),
    "ratio:sentence_words": Constraint(sentence_words, is_approximate=True),
    "sentence:keyword": Constraint(
        sentence_keyword, {"N": kinds.position, "word": kinds.raw_text}, is_approximate=True
    ),
    "sentence:increment": Constraint(
        sentence_increment, {"small_n": kinds.count}, is_approximate=True
    ),
    "sentence:alliteration_increment": Constraint(alliteration_increment, is_approximate=True),
}
"""Id -> constraint."""
