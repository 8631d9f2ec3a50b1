"""IFBench's `words:` instructions as the official code judges them."""

import re
import string
from collections import Counter
from itertools import pairwise

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.ifbench_official_counts import NO_PUNCTUATION
from rewards.constraints.sentences import official_sentences
from rewards.constraints.syllables import count_syllables
from rewards.constraints.text import PUNCTUATION
from rewards.constraints.treebank import official_words, sentence_words
from rewards.constraints.verbs import begins_with_verb

_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxyz")
_VOWELS = re.compile(r"[aeiouy]+")
_PRIMES = frozenset(n for n in range(2, 98) if all(n % d for d in range(2, n)))


def _plain_words(text: str) -> list[str]:
    return text.translate(NO_PUNCTUATION).lower().split()


def alphabet(text: str) -> bool:
    """The words begin with letters that follow one another."""
    found = _plain_words(text)
    if not found or found[0][0] not in string.ascii_lowercase:
        return False
    start = string.ascii_lowercase.index(found[0][0])
    return all(
        word[0] == string.ascii_lowercase[(start + index) % 26] for index, word in enumerate(found)
    )


def vowel(text: str) -> bool:
    """One line with no more than three vowels."""
    given = text.strip()
    return "\n" not in given and len(set("aeiou") & set(given.lower())) <= 3


def consonants(text: str) -> bool:
    """Each spaced word, numbers and marks too, has two consonants side by side."""
    return all(
        any(before in _CONSONANTS and after in _CONSONANTS for before, after in pairwise(word))
        for word in text.lower().split()
    )


def palindrome(text: str) -> bool:
    """Ten palindromes of five characters; the same one ten times will do."""
    found = [word for word in text.translate(NO_PUNCTUATION).lower().split() if len(word) >= 5]
    return sum(word == word[::-1] for word in found) >= 10


def prime_lengths(text: str) -> bool:
    """The lengths are prime; no word at all will do."""
    return all(len(word) in _PRIMES for word in text.translate(NO_PUNCTUATION).split())


def start_verb(text: str) -> bool:
    """The first token is a verb, by a list; the official code asks a tagger instead."""
    return begins_with_verb(official_words(text))


def repeats(text: str, *, small_n: int) -> bool:
    """No word occurs more often."""
    counts = Counter(text.lower().translate(NO_PUNCTUATION).split())
    return all(number <= small_n for number in counts.values())


def odd_even_syllables(text: str) -> bool:
    """Odd and even take turns; the official code counts by a dictionary."""
    counts = map(_count_syllables, text.lower().split())
    parities = [count % 2 for count in counts if count]
    return all(before != after for before, after in pairwise(parities))


def _count_syllables(word: str) -> int:
    """Count as for the word without its punctuation; 0 if nothing is left.

    A word that lost a hyphen is in no dictionary: the official code counts its groups of vowels.
    """
    plain = word.translate(NO_PUNCTUATION)
    if not plain:
        return 0
    return len(_VOWELS.findall(plain)) if "-" in word.strip(PUNCTUATION) else count_syllables(plain)


def last_first(text: str) -> bool:
    """Each sentence begins with the last word of the one before, marks between words kept."""
    for before, after in pairwise(official_sentences(text)):
        last = before.rstrip(PUNCTUATION).split()[-1:]
        first = after.lstrip(PUNCTUATION).split()[:1]
        if not last or [word.lower() for word in last] != [word.lower() for word in first]:
            return False
    return True


def paragraph_last_first(text: str) -> bool:
    """Each line ends with the spaced word that it begins with."""
    for line in text.split("\n"):
        found = line.strip().lower().strip(PUNCTUATION).split()
        if found and found[0] != found[-1]:
            return False
    return True


def no_consecutive(text: str) -> bool:
    """No two neighbours share the first character."""
    found = text.lower().translate(NO_PUNCTUATION).split()
    return all(before[0] != after[0] for before, after in pairwise(found))


def keywords_specific_position(text: str, *, keyword: str, n: int, m: int) -> bool:
    """The keyword is the m-th token, marks aside, of the n-th sentence."""
    found = official_sentences(text)
    if len(found) < n:
        return False
    tokens = [
        word
        for sentence in official_sentences(found[n - 1])
        for word in sentence_words(sentence)
        if any(map(str.isalnum, word))
    ]
    return len(tokens) >= m and tokens[m - 1].lower() == keyword.lower()


def words_position(text: str, *, keyword: str) -> bool:
    """The keyword is the second token, and the last but one, or but two before a final mark."""
    found = [word.lower() for word in official_words(text)]
    if len(found) < 2:
        return False
    back = 3 if found[-1] in string.punctuation else 2
    return len(found) >= back and found[1] == found[-back] == keyword.lower()


CONSTRAINTS = {
    "words:alphabet": Constraint(alphabet),
    "words:vowel": Constraint(vowel),
    "words:consonants": Constraint(consonants),
    "words:palindrome": Constraint(palindrome),
    "words:prime_lengths": Constraint(prime_lengths),
    "words:start_verb": Constraint(start_verb, is_approximate=True),
    "words:repeats": Constraint(repeats, {"small_n": kinds.count}),
    "words:odd_even_syllables": Constraint(odd_even_syllables, is_approximate=True),
    "words:last_first": Constraint(last_first, is_approximate=True),
    "words:paragraph_last_first": Constraint(paragraph_last_first),
    "words:no_consecutive": Constraint(no_consecutive),
    "words:keywords_specific_position": Constraint(
        keywords_specific_position,
        {"keyword": kinds.text, "n": kinds.position, "m": kinds.position},
        is_approximate=True,
    ),
    "words:words_position": Constraint(words_position, {"keyword": kinds.text}),
}
"""Id -> constraint."""
