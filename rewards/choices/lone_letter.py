"""A reference that is one option's letter, beside which nothing of the options is known."""

import re
import unicodedata

from rewards.answers import FinalAnswer, NoAnswer
from rewards.choices.question import Question
from rewards.choices.selection import Choice, choose
from rewards.mathematics.text import normalise

_MAY_BE_LETTER = re.compile(r"[^A-Z\d=]{0,16}[A-H][^A-Za-z\d=]{0,8}")
_LETTER = re.compile(r"(?:\\text\s?\{)?\(?\s?([A-H])\s?\)?\}?")
_FRAME = re.compile(
    r"\\(?:text(?:bf|rm|it|sf|tt)?|math(?:bf|rm|it|sf)|mbox|left|right)(?![a-zA-Z])\s?"
    r"|\\[()\[\]!]|[$`{}]|\*\*|</?(?:b|strong|answer)>"
)
_SPACE = re.compile(r"\\[,;: ]|\\q?quad(?![a-zA-Z])|~")
_VALUE = (
    r"(?![A-Z]\s*$)(?:[-+\u2212](?=\S)|(?![-+\u2212=*/^_!<>|&%'\u2013\u2014\u00b7\u00d7\u00f7]"
    r"|\\(?:cdot|times|div|cap|cup|circ|leq?|geq?|neq?|approx|equiv|sim|to|in|mid)(?![a-zA-Z])))\S.*"
)
"""What an option may say: it begins with no operator, and is no further letter."""
_BEHIND_MARK = re.compile(rf"[.\s]*|[.:,]?\s+{_VALUE}|\d.*", re.DOTALL)
"""Behind `(B)` and `B)`."""
_BEHIND_LETTER = re.compile(rf"[.\s]*|[.:]\s+{_VALUE}", re.DOTALL)
"""Behind `B`."""
_BEHIND_IN_PROSE = re.compile(
    r"[.!\s]*|(?:[,;]?\s+|\s?\u2014\s?)[a-z]{2}.*|[\s,;\u3002]*[\u3002\u4e00-\u9fff].*", re.DOTALL
)
_BEFORE = re.compile(
    r"(?:[A-Za-z']{2,}(?=[\s:,])|[\s:,\u4e00-\u9fff])*"
    r"|.*\b(?:option|choice|but(?:\srather)?)[\s:,]+",
    re.DOTALL | re.IGNORECASE,
)
_NUMBER_BEFORE = re.compile(r"[\d.,/]+\s+")
"""Before a bracket that ends the answer: `12 (B)`."""
_OTHER = frozenset({"other_option", "hedged", "withdrawn"})
_TAKEN_BACK = frozenset({"hedged", "sprayed", "retracted", "unfinished_thinking"})


def option_letter(reference: str) -> str | None:
    r"""Return the letter of `B`, `(B)` or `\textbf{(B)}`; None for anything else."""
    if not _MAY_BE_LETTER.fullmatch(reference):  # cheap: most references are no letter
        return None
    found = _LETTER.fullmatch(normalise(reference))
    return found[1] if found else None


def choose_letter(
    text: str, answer: FinalAnswer | NoAnswer, letter: str, *, only_box: bool
) -> Choice | None:
    """Judge what a text without thinking chooses; None where that is no option.

    `answer` is what `answers.extract` finds in it, and comes first: of a box nothing else counts,
    and a letter it found is not overruled by what is said elsewhere. With `only_box` a box alone
    counts. A letter inside a formula (`B = 5`, `2B`, `B - 1`) is a variable and chooses nothing,
    nor does a small one.
    """
    if isinstance(answer, NoAnswer):
        if only_box or answer.reason in _TAKEN_BACK:
            return None
    elif answer.source == "box":
        text = rf"\boxed{{{answer.text}}}"
    elif only_box or option_letter(answer.text) not in (None, letter):
        return None
    choice = _choose(text, letter)
    is_option = _is_option(choice.extracted, letter, is_box=choice.source == "box")
    return choice if is_option else None


def names_another(text: str, letter: str) -> bool:
    """Say whether a text without thinking takes a letter back, or chooses another beside it."""
    return _choose(text, letter).reason in _OTHER


def _choose(text: str, letter: str) -> Choice:
    return choose(text.replace("\0", " "), Question(frozenset(letter), letter))


def _is_option(content: str, letter: str, *, is_box: bool) -> bool:
    """Say whether a letter stands in an answer as options do, and not in a formula."""
    plain = _FRAME.sub("", _SPACE.sub(" ", content.replace("\uff1a", ": ")))
    plain = unicodedata.normalize("NFKC", plain).strip(" *_\n")
    found = re.search(
        rf"(?<![A-Za-z\\])(?:\(\s?{letter}\s?\)|\[\s?{letter}\s?\]|{letter}\)|{letter}(?![A-Za-z]))",
        plain,
    )
    if found is None:
        return False
    before, behind = plain[: found.start()], plain[found.end() :]
    is_marked = found.group()[-1] in ")]"
    if not _BEFORE.fullmatch(before):
        return is_marked and not behind.strip(" .") and bool(_NUMBER_BEFORE.fullmatch(before))
    if (_BEHIND_MARK if is_marked else _BEHIND_LETTER).fullmatch(behind):
        return True
    return not is_box and _BEHIND_IN_PROSE.fullmatch(behind) is not None
