"""IFBench's `words:` instructions, checked by what they mean."""

import string
from itertools import pairwise

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.sentences import sentences
from rewards.constraints.syllables import count_syllables
from rewards.constraints.text import lines, lower_words, paragraphs, plain_letters, straight, words
from rewards.constraints.verbs import begins_with_verb

_VOWELS = frozenset("aeiou")
_CLUSTER = regex.compile(r"[bcdfghjklmnpqrstvwxyz]{2}")
_NUM_PALINDROMES = 10
_MIN_PALINDROME = 5


def _letters_only(word: str) -> str:
    return "".join(character for character in word if character.isalnum())


def alphabet(text: str) -> bool:
    """Two words or more, each with the initial after that of the word before; a follows z."""
    initials = [plain_letters(word)[:1] for word in words(text)]
    if len(initials) < 2 or not set(initials) <= set(string.ascii_lowercase):
        return False
    return all((ord(after) - ord(before)) % 26 == 1 for before, after in pairwise(initials))


def vowel(text: str) -> bool:
    """One paragraph with no more than three of the vowels a, e, i, o, u."""
    is_one = len(paragraphs(text)) == 1
    return is_one and bool(words(text)) and len(_VOWELS & set(plain_letters(text))) <= 3


def consonants(text: str) -> bool:
    """Each word, numbers aside, has two consonants side by side; y is one."""
    found = [plain_letters(word) for word in words(text) if any(map(str.isalpha, word))]
    return bool(found) and all(_CLUSTER.search(word) for word in found)


def palindrome(text: str) -> bool:
    """Ten different palindromes of five letters or more."""
    found = {
        word
        for word in lower_words(text)
        if len(word) >= _MIN_PALINDROME and word.isalpha() and word == word[::-1]
    }
    return len(found) >= _NUM_PALINDROMES


def prime_lengths(text: str) -> bool:
    """The number of characters of each word is prime; punctuation inside doesn't count."""
    lengths = {len(_letters_only(word)) for word in words(text)}
    return bool(lengths) and all(map(_is_prime, lengths))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def start_verb(text: str) -> bool:
    """The first word is a verb, by a list; before another verb it is a noun (`water is`)."""
    return begins_with_verb(words(text))


def repeats(text: str, *, small_n: int) -> bool:
    """No word more than so many times, case ignored."""
    found = sorted(lower_words(text))
    # Sorted, a word that occurs more often equals the one small_n places on.
    return bool(found) and not any(
        before == after for before, after in zip(found, found[small_n:], strict=False)
    )


def odd_even_syllables(text: str) -> bool:
    """Odd and even numbers of syllables take turns."""
    parities = [count_syllables(word) % 2 for word in words(text) if not word[0].isdigit()]
    return len(parities) > 1 and all(before != after for before, after in pairwise(parities))


def last_first(text: str) -> bool:
    """Two sentences or more, each beginning with the last word of the one before."""
    found = [lower_words(sentence) for sentence in sentences(text)]
    return len(found) > 1 and all(
        before[-1:] == after[:1] != [] for before, after in pairwise(found)
    )


def paragraph_last_first(text: str) -> bool:
    """Each paragraph, of two words or more, ends with the word that it begins with."""
    found = [lower_words(line) for line in lines(text)]
    found = [paragraph for paragraph in found if paragraph]
    return bool(found) and all(
        len(paragraph) > 1 and paragraph[0] == paragraph[-1] for paragraph in found
    )


def no_consecutive(text: str) -> bool:
    """Two words or more, and no two side by side with the same initial."""
    initials = [plain_letters(word)[:1] for word in words(text)]
    return len(initials) > 1 and all(before != after for before, after in pairwise(initials))


def keywords_specific_position(text: str, *, keyword: str, n: int, m: int) -> bool:
    """The keyword is the m-th word of the n-th sentence; punctuation is no word."""
    found = sentences(text)
    if len(found) < n:
        return False
    return lower_words(found[n - 1])[m - 1 : m] == [straight(keyword).casefold()]


def words_position(text: str, *, keyword: str) -> bool:
    """The keyword is the second and the second to last word; punctuation is no word."""
    found = lower_words(text)
    return len(found) > 2 and found[1] == found[-2] == straight(keyword).casefold()


CONSTRAINTS = {
    "words:alphabet": Constraint(alphabet),
    "words:vowel": Constraint(vowel),
    "words:consonants": Constraint(consonants),
    "words:palindrome": Constraint(palindrome),
    "words:prime_lengths": Constraint(prime_lengths),
    "words:start_verb": Constraint(start_verb),
    "words:repeats": Constraint(repeats, {"small_n": kinds.position}),
    "words:odd_even_syllables": Constraint(odd_even_syllables),
    "words:last_first": Constraint(last_first),
    "words:paragraph_last_first": Constraint(paragraph_last_first),
    "words:no_consecutive": Constraint(no_consecutive),
    "words:keywords_specific_position": Constraint(
        keywords_specific_position,
        {"keyword": kinds.text, "n": kinds.position, "m": kinds.position},
    ),
    "words:words_position": Constraint(words_position, {"keyword": kinds.text}),
}
"""Id -> constraint."""
