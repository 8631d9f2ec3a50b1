"""IFEval's `combination:` and `startend:` instructions: the frame of a text, by what they mean."""

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.text import count_parts, goes_on, has_words, is_quoted, squeezed, straight

_SIX_STARS = regex.compile(r"(?<!\*)\*{6}(?!\*)")
_LABEL = regex.compile(
    r"\W*(?:response|answer|option|version|reply)\s*(?:#?\d{1,2}|[a-z]|one|two|first|second)\b[\W_]*",
    regex.IGNORECASE,
)
_SILENT = regex.compile(r"(?:(?!(?<=\d)[.,:/%]\d?|[-\u2212]\d|%)[\s\p{P}])+")
"""What separates words without being said: not the point of 3.5, nor the sign of -5."""
_WRAPPERS = '"*_` '
_OPENERS = _WRAPPERS + "'#>"


def two_responses(text: str) -> bool:
    """Six asterisks separate exactly two responses that say different things.

    A label such as "Response 1:", case, spaces and punctuation make no difference.
    """
    parts = _SIX_STARS.split(text)
    answers = {_said(part) for part in parts if has_words(part)}
    return count_parts(parts) == 2 and len(answers) == 2


def _said(part: str) -> str:
    label = _LABEL.match(part)
    said: str = _SILENT.sub(" ", squeezed(part[label.end() :] if label else part))
    return said.strip()


def repeat_prompt(text: str, *, prompt_to_repeat: str) -> bool:
    """The text begins with the request, quoted or not, and an answer follows it."""
    request = squeezed(prompt_to_repeat)
    for given in (squeezed(text), squeezed(text).lstrip(_OPENERS)):
        rest = given[len(request) :]
        if given.startswith(request) and not goes_on(request, rest):
            return has_words(rest.replace(request, " "))
    return False


def end_checker(text: str, *, end_phrase: str) -> bool:
    """The text ends with the phrase; quotes and emphasis around the end don't count."""
    given, phrase = squeezed(text).strip(_WRAPPERS), squeezed(end_phrase).strip(_WRAPPERS)
    if not phrase or not given.endswith(phrase):
        return False
    before = given[: len(given) - len(phrase)]
    return not (before[-1:].isalnum() and phrase[0].isalnum())


def quotation(text: str) -> bool:
    """The whole text stands in double quotes, which may hold others: no word is outside."""
    return is_quoted(straight(text).strip()) and has_words(text)


CONSTRAINTS = {
    "combination:two_responses": Constraint(two_responses),
    "combination:repeat_prompt": Constraint(repeat_prompt, {"prompt_to_repeat": kinds.text}),
    "startend:end_checker": Constraint(end_checker, {"end_phrase": kinds.text}),
    "startend:quotation": Constraint(quotation),
}
"""Id -> constraint."""
