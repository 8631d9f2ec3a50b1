"""Which language a text is in: py3langid for meaning, langdetect for the official verdicts."""

import functools
from typing import Any

import regex

LANGUAGES = frozenset(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fo fr fy ga gd gl gu ha "
    "he hi hr ht hu hy id ig is it ja ka kk km kn ko ku ky la lb lo lt lv mg mk ml mn mr ms mt my "
    "ne nl nn no om or pa pl ps pt ro ru rw si sk sl so sq sr sv sw ta te tg th tk tl tr tt ug uk "
    "ur uz vi xh yo zh zu".split()
)
"""The languages that are told apart: what py3langid knows, less those of few texts."""
_ALIKE = [{"bs", "hr", "sr"}, {"id", "ms"}, {"nn", "no"}]
"""Languages that a detector mixes up in ordinary text: either counts as the other."""
_NOISE = regex.compile(r"```.*?```|`[^`\n]{1,80}`|https?://\S+|<[^<>\n]*>", regex.S)
_ALIASES = {"nb": "no", "iw": "he", "in": "id", "fil": "tl"}
_SURE = 0.97
"""Probability from which a single paragraph is called foreign."""
_LIKELY = 0.5
"""Probability below which a text is too short or too plain to be called other than English."""
_MAX_FOREIGN = 1 / 3
_MIN_LETTERS = 40
"""A shorter paragraph is no evidence."""


def base_code(code: str) -> str:
    """Return the language of a code such as zh-cn."""
    base = code.lower().partition("-")[0].partition("_")[0]
    return _ALIASES.get(base, base)


def is_in_language(text: str, code: str) -> bool:
    """Whether a text is written in a language; False where no language can be told.

    Code, links and tags are left aside. Paragraphs that are clearly in another language, such as
    a repeated request, may make up a third of the letters.
    """
    prose = _prose(text)
    if _guess(prose)[0] not in _accepted(code):
        return False
    foreign = sum(_letters(part) for part in prose.split("\n") if _is_foreign(part, code))
    return foreign <= _MAX_FOREIGN * _letters(prose)


def is_english(text: str) -> bool:
    """Whether a text is English, or too short to be called anything else.

    Its case is folded first: detectors know little of capitals.
    """
    prose = _prose(text).casefold()
    if not _letters(prose):
        return False
    guess, sureness = _guess(prose)
    return guess == "en" or (sureness < _LIKELY and prose.isascii())


def official_code(text: str) -> str | None:
    """Return langdetect's language with its random draws fixed; None where it finds none."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        return langdetect.detect(text)  # type: ignore[no-any-return]
    except langdetect.LangDetectException:
        return None


def warm_up() -> None:
    """Load py3langid's model, which takes a second."""
    _guess("warm")


def _prose(text: str) -> str:
    prose = _NOISE.sub(" ", text)
    return prose if _letters(prose) else text


def _is_foreign(part: str, code: str) -> bool:
    if _letters(part) < _MIN_LETTERS:
        return False
    guess, sureness = _guess(part)
    return guess not in _accepted(code) and sureness >= _SURE


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _accepted(code: str) -> set[str]:
    base = base_code(code)
    return next((group for group in _ALIKE if base in group), {base})


def _guess(text: str) -> tuple[str, float]:
    """Return the likeliest language and its probability; ("", 0) if nothing speaks for one."""
    if not _letters(text):
        return "", 0.0
    code, sureness = _identifier().classify(text)
    # Without a known sequence of bytes all languages are as likely.
    return (str(code), float(sureness)) if sureness * len(LANGUAGES) > 1.5 else ("", 0.0)


@functools.lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier
