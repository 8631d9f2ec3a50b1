"""The 25 instructions of IFEval (Zhou et al., 2023), checked by what they mean.

rewards.constraints.ifeval_official has the same ids as the official code checks them.
"""

import regex

from rewards.constraints import ifeval_formats, ifeval_frames, kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.language import is_english, is_in_language
from rewards.constraints.sentences import sentences
from rewards.constraints.text import (
    compare,
    count_keyword,
    count_parts,
    keyword_pattern,
    paragraphs,
    straight,
    tokens,
    words,
)

_COMMAS = frozenset(",\uff0c\u060c\u3001\ufe50\ufe51\ufe10\u2e41\u055d\u1363")
_DIVIDER = regex.compile(r"(?<!\S)\*{3}(?!\S)")
_LEADING = regex.compile(r"[^\w]*")


def keyword_existence(text: str, *, keywords: tuple[str, ...]) -> bool:
    """Every keyword stands there as a whole word, in any case."""
    plain = straight(text)
    return all(keyword_pattern(keyword).search(plain) for keyword in keywords)


def keyword_frequency(text: str, *, keyword: str, relation: str, frequency: int) -> bool:
    """The keyword stands there so many times, as a whole word, in any case."""
    return compare(count_keyword(text, keyword), relation, frequency)


def forbidden_words(text: str, *, forbidden_words: tuple[str, ...]) -> bool:
    """None of the words stands there as a whole word, in any case."""
    plain = straight(text)
    return not any(keyword_pattern(word).search(plain) for word in forbidden_words)


def letter_frequency(text: str, *, letter: str, let_relation: str, let_frequency: int) -> bool:
    """A character occurs so many times, in any case."""
    wanted = _folded(letter)
    return compare(sum(_folded(each) == wanted for each in text), let_relation, let_frequency)


def _folded(letter: str) -> str:
    """Return a letter with case folded, as one letter: \u00df is no two s."""
    folded = letter.casefold()
    return folded if len(folded) == 1 else letter.lower()


def response_language(text: str, *, language: str) -> bool:
    """The text is in the language."""
    return is_in_language(text, language)


def number_sentences(text: str, *, relation: str, num_sentences: int) -> bool:
    """So many sentences."""
    return compare(len(sentences(text)), relation, num_sentences)


def number_words(text: str, *, relation: str, num_words: int) -> bool:
    """So many words."""
    return compare(len(tokens(text)), relation, num_words)


def number_paragraphs(text: str, *, num_paragraphs: int) -> bool:
    """Exactly so many paragraphs with the divider *** between them, none of them empty."""
    return count_parts(_DIVIDER.split(text)) == num_paragraphs


def nth_paragraph_first_word(
    text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    """Exactly so many paragraphs, separated by blank lines; the n-th begins with the word."""
    parts = paragraphs(text)
    if len(parts) != num_paragraphs or nth_paragraph > num_paragraphs:
        return False
    start = _LEADING.sub("", straight(parts[nth_paragraph - 1]), count=1)
    word = regex.escape(straight(first_word))
    return regex.match(rf"{word}(?!-?\w)", start, flags=regex.IGNORECASE) is not None


def english_capital(text: str) -> bool:
    """English, and every letter is a capital."""
    return text.isupper() and is_english(text)


def english_lowercase(text: str) -> bool:
    """English, and no letter is a capital."""
    return text.islower() and is_english(text)


def capital_word_frequency(text: str, *, capital_relation: str, capital_frequency: int) -> bool:
    """So many words are all capitals; a possessive ending doesn't count against a word."""
    capitals = [word for word in words(text) if word.removesuffix("'s").isupper()]
    return compare(len(capitals), capital_relation, capital_frequency)


def no_comma(text: str) -> bool:
    """No comma of any script."""
    return not _COMMAS & set(text)


CONSTRAINTS = {
    "keywords:existence": Constraint(keyword_existence, {"keywords": kinds.texts}),
    "keywords:frequency": Constraint(
        keyword_frequency,
        {"keyword": kinds.text, "relation": kinds.relation, "frequency": kinds.count},
    ),
    "keywords:forbidden_words": Constraint(forbidden_words, {"forbidden_words": kinds.texts}),
    "keywords:letter_frequency": Constraint(
        letter_frequency,
        {"letter": kinds.letter, "let_relation": kinds.relation, "let_frequency": kinds.count},
    ),
    "language:response_language": Constraint(response_language, {"language": kinds.language}),
    "length_constraints:number_sentences": Constraint(
        number_sentences, {"relation": kinds.relation, "num_sentences": kinds.count}
    ),
    "length_constraints:number_paragraphs": Constraint(
        number_paragraphs, {"num_paragraphs": kinds.position}
    ),
    "length_constraints:number_words": Constraint(
        number_words, {"relation": kinds.relation, "num_words": kinds.count}
    ),
    "length_constraints:nth_paragraph_first_word": Constraint(
        nth_paragraph_first_word,
        {
            "num_paragraphs": kinds.position,
            "nth_paragraph": kinds.position,
            "first_word": kinds.text,
        },
        objection=kinds.at_most("nth_paragraph", "num_paragraphs"),
    ),
    "change_case:capital_word_frequency": Constraint(
        capital_word_frequency,
        {"capital_relation": kinds.relation, "capital_frequency": kinds.count},
    ),
    "change_case:english_capital": Constraint(english_capital),
    "change_case:english_lowercase": Constraint(english_lowercase),
    "punctuation:no_comma": Constraint(no_comma),
    **ifeval_formats.CONSTRAINTS,
    **ifeval_frames.CONSTRAINTS,
}
"""Id -> constraint."""
