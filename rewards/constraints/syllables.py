"""Counts the syllables of an English word by its spelling.

Groups of vowels, less the e that is not heard, plus the vowels side by side that are heard apart.
"""

import regex

_EXCEPTIONS = {
    "business": 2,
    "cafe": 2,
    "coed": 2,
    "eye": 1,
    "evening": 2,
    "giant": 2,
    "giants": 2,
    "maybe": 2,
    "every": 2,
    "everyone": 3,
    "everything": 3,
    "everywhere": 3,
    "naive": 2,
    "people": 2,
    "recipe": 3,
    "science": 2,
    "someone": 2,
    "therefore": 2,
}
_CONSONANT_U = regex.compile(r"(?<=q)u|(?<=g)u(?=[aei])|(?<=g)ue(?=s?$)")
"""queen, language, league: no syllable of its own."""
_CONSONANT_Y = regex.compile(r"(?<![a-z])y(?=[aeiou])|(?<=[aeo])y(?=[aeiou])")
"""yellow, beyond."""
_INNER_E = regex.compile(r"(?<=[aeiouy][^aeiouy])e(?=(?:ly|ful|less|ness|ment|some|thing|time)s?)")
"""lovely, useful, movement, something."""
_FINAL_E = regex.compile(r"(?<=[^aeiou])e$|(?<=[^sxzcghaeiou])es$|(?<=[^cs]h)es$|(?<=[^td])ed$")
"""make, stones, walked, cried; but houses, changes, wanted keep theirs."""
_ONLY_E = regex.compile(r"[^aeiouy]*e")
"""the, me: the only vowel is heard."""
_VOWELS = regex.compile(r"[aeiouy]+")
_SYLLABIC = regex.compile(r"[^aeiouylrw]l$|(?:s|th)m$|[dst]n$")
"""tabl(e), handl(es), prism, rhythm, isn('t): heard without a vowel."""
_APART = regex.compile(
    r"(?<![tscxgh]|ll)i(?=o|a|u)(?!on(?:s|al)?$)|(?<=[^aeiou][^aeioutscxgh]|^[a-z])i(?=on$)(?<!ni|lli)"
    r"|(?<![tc])i(?=e(?:nt|nts|nc|ncy)$)|i(?=et(?:s|y|ies|al)?$)"
    r"|(?<!g)e(?=o)|(?<=cr|id|ar)e(?=a)|(?<=^r)e(?=ali)|(?<=th)e(?=at)|e(?=um$)"
    r"|u(?=a|ou|el|ent|enc|i[dn](?!g))|o(?=e[mt])|a(?=o|ic$)|(?<=[aeouyi])(?=ing)"
)
"""ra-di-o, cli-ent, vi-de-o, cre-ate, mu-se-um, ac-tu-al, po-em, cha-os, be-ing."""
_PARTS = regex.compile(r"[-']")


def count_syllables(word: str) -> int:
    """Return the number of syllables; 0 for a word without letters."""
    parts = _PARTS.split(word.casefold())
    # What follows an apostrophe (it's, we'll) is no syllable of its own.
    return sum(_of_part(part) for part in parts if part.isalpha() and part not in _ENDINGS)


_ENDINGS = frozenset("d ll m re s t ve".split())


def _of_part(part: str) -> int:
    if part in _EXCEPTIONS:
        return _EXCEPTIONS[part]
    heard = _CONSONANT_Y.sub("j", _CONSONANT_U.sub("w", part))
    heard = _INNER_E.sub("", heard)
    if not _ONLY_E.fullmatch(heard):
        heard = _FINAL_E.sub("", heard)
    count = len(_VOWELS.findall(heard)) + len(_APART.findall(heard))
    return max(1, count + (_SYLLABIC.search(heard) is not None))
