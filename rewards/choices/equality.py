"""Whether an answer's text says the same as a reference's: as formula, quantity, words or maths."""

import re
import unicodedata
from functools import lru_cache

from rewards.choices import chemistry
from rewards.choices.quantities import difference, read_quantity
from rewards.mathematics.decision import Mode, Verdict
from rewards.mathematics.equivalence import decide
from rewards.mathematics.options import MathOptions
from rewards.mathematics.text import normalise
from rewards.mathematics.values import is_words

_MAX_CHARS = 1000
_MARKS = re.compile(
    r"\\(?:text(?:bf|rm|it|sf)?|math(?:rm|bf|it|sf)|mbox|boxed|fbox)(?![a-zA-Z])|\\[()\[\]]"
    r"|[$*`{}\"\u201c\u201d\u2018\u2019]"
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")
_SPACE = re.compile(r"[\s\u00a0_]+|(?<=[^\W\d])-(?=[^\W\d])|[,;]\s+(?=[^\W\d])")
_ORBITALS = re.compile(r"(?=.*(?:sp|[spdf])\d)(?:\[[A-Z][a-z]\])?(?:\d?(?:sp|[spdf])\d{0,2})+")
_GENOTYPE = re.compile(r"(?:([A-Za-z])(?i:\1)){1,6}")
"""`AaBb`: case says everything."""
_PROSE = re.compile(r"[A-Za-z]{3,}\s+[A-Za-z]{2,}\s+[A-Za-z]{2,}")


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """Return a text as words: no case, markup, article or mark at the end."""
    plain = unicodedata.normalize("NFKC", _MARKS.sub("", text.replace("\\ ", " "))).casefold()
    plain = _SPACE.sub(" ", plain).strip(" .,;:!?'\u3002\uff0c")
    return _ARTICLE.sub("", plain)


@lru_cache(maxsize=4096)
def is_same(reference: str, answer: str, tolerance: float | None = None) -> bool:
    """Say whether an answer equals the reference; `tolerance` is relative, for quantities."""
    if not answer.strip() or len(answer) > _MAX_CHARS:
        return False
    if _is_chemical(reference):
        return _is_same_formula(reference, answer)
    if _orbitals(reference):
        return _orbitals(reference) == _orbitals(answer)
    first, second = read_quantity(reference), read_quantity(answer)
    if first is not None and second is not None:
        distance = difference(first, second, tolerance)
        return distance is not None and distance <= 1
    if _is_letter(reference) or _is_letter(answer):
        return _bare(normalise(reference)) == _bare(normalise(answer))
    if _GENOTYPE.fullmatch(_bare(reference)):
        return _bare(reference) == _bare(answer)
    if words(reference) == words(answer) and words(answer):
        return first is not None or _is_text(reference) or _bare(reference) == _bare(answer)
    if is_words(normalise(reference)) or _PROSE.search(answer):
        return False
    return decide(reference, (answer,), _MODE).is_equal


_MODE = Mode(MathOptions())


def is_readable(reference: str) -> bool:
    """Say whether answers can be compared with a reference at all."""
    if _is_chemical(reference) or read_quantity(reference) is not None:
        return True
    if _is_text(reference) or _orbitals(reference) or _is_letter(reference):
        return True
    return decide(reference, ("0",), Mode(MathOptions(), is_cheap=True)).verdict is not (
        Verdict.UNUSABLE
    )


def _is_chemical(text: str) -> bool:
    """Say whether a text is a chemical formula, and not `300 K` or `2 V`."""
    return chemistry.is_formula(text) and read_quantity(text) is None


def is_symbol(text: str) -> bool:
    """Say whether a text is a chemical formula or an abbreviation (ATP)."""
    return _is_chemical(text) or re.fullmatch(r"[A-Z]{2,8}", text) is not None


def _orbitals(text: str) -> str:
    """Return `1s^2 2s^2` or `sp^3` without marks; nothing for other texts."""
    folded = re.sub(r"[\^{}\s]", "", unicodedata.normalize("NFKC", _MARKS.sub("", text)))
    return folded if _ORBITALS.fullmatch(folded) else ""


def _is_same_formula(reference: str, answer: str) -> bool:
    given = chemistry.read_formula(answer) or chemistry.read_formula(answer.rpartition("=")[2])
    return not chemistry.read_formula(reference).isdisjoint(given)


def _is_text(text: str) -> bool:
    """Say whether a text is words, whose case says nothing."""
    return is_words(normalise(text)) or bool(re.fullmatch(r"[^\W\d_]{3,}", _bare(text)))


def _bare(text: str) -> str:
    return _MARKS.sub("", text).strip(" .,;:")


def _is_letter(text: str) -> bool:
    return len(_bare(text)) == 1
