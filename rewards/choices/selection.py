"""What a response chooses, and whether that is the question's answer.

The last statement that chooses counts; boxes around formulas that are no option are steps on the
way. Without any, a last line counts, a first line such as `C. ...`, or the last sentence's end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rewards.choices import equality
from rewards.choices.letters import Letters, doubts, plain, read_letters, withdraws
from rewards.choices.quantities import MAX_CHARS, difference, read_quantity
from rewards.choices.question import Question
from rewards.choices.statements import (
    MAX_CONTENT_CHARS,
    Statement,
    find_statements,
    last_sentence,
)

_ANY_LETTERS = frozenset("ABCDEFGHIJ")
_SENTENCE = re.compile(r"(?<!\\)[.!?](?=[*_$)\s]*(?:\s|$))|[\u3002\uff01]|\n")
_WHY = re.compile(
    r"[\s,;(\u2014-]+(?:because|since|which|so|hence|thus|therefore|when|where|as|that|due to|by|"
    r"while|whereas|and not|not|rather than|instead of)\b.*|,?\s*\u56e0\u4e3a.*",
    re.DOTALL,
)
_REMARK = re.compile(
    r"(?:very |quite |now |thus |also |therefore |then |in )*(?:consistent|clear|obvious|correct|"
    r"reasonable|based|found|given|obtained|derived|independent|as follows|below|above|"
    r"straightforward|simple|right|wrong|line|agreement|accord|good|surprising)\b",
    re.IGNORECASE,
)
_OR = re.compile(r"\s*(?:,\s*(?:and|or)?|;|\band\b|\bor\b|/|&|\u3001|\u6216|\u548c)\s*")
_OPTION_LINE = re.compile(r"^[ \t*_>-]{0,6}\(?([A-Z])\s?[.):](?=[\s*])", re.MULTILINE)
_OPTION_IN_LINE = re.compile(r"(?:^|\s)\(?([A-Z])[).:]\s")
_LINK = re.compile(r"[\s,;]*(?:i\.e\.?|that is|which is|so|thus|namely|or)[\s,:]*$")
_NO_CHOICE = re.compile(r"(?:the\s+)?(?:not|never|neither|n't)\b", re.IGNORECASE)
_SYMBOL_BEHIND_NAME = re.compile(
    r"[A-Za-z][a-z]+(?: \(?[A-Za-z]+\)?){0,3}(?:,? \(|, )([^\s(),]+)\)?"
)
"""`glucose (C6H12O6)`, `carbon dioxide, CO2`."""
_MAX_STATEMENTS = 40
_MAX_NUMBER_CHARS = 40
_MAX_UNIT_CHARS = 40
_FAR = 20
"""Words of a sentence that is rather a remark than an answer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The verdict on what was chosen."""

    is_right: bool
    reason: str
    extracted: str
    source: str


def choose(text: str, question: Question) -> Choice:
    """Judge the text after the thinking against the question."""
    statements = find_statements(text)
    rest: Choice | None = None
    for statement in reversed(statements[-_MAX_STATEMENTS:]):
        choice = _judge(statement, question)
        if choice is None:
            continue
        if choice.reason != "not_an_option" or statement.is_line:
            return choice
        rest = rest or choice
    if rest is not None:
        return rest
    for statement in _fallbacks(text):
        choice = _judge(statement, question)
        if choice is not None:
            return choice
    return Choice(False, "no_answer", "", "")


def _fallbacks(text: str) -> Iterator[Statement]:
    """Yield a lone last line, a first line with a letter in front, the last sentence."""
    head, tail = text[:MAX_CONTENT_CHARS].lstrip(), text[-8000:].rstrip()
    lines = [line.strip() for line in tail.split("\n") if line.strip()]
    if not lines:
        return
    last, before = lines[-1], lines[-2] if len(lines) > 1 else ""
    pattern = re.compile(r"\W{0,6}(?:option |choice )?[A-Za-z]\W{0,6}")
    if pattern.fullmatch(last):
        is_list = pattern.fullmatch(before) and plain(before)[:1].isupper()
        contents = f"{plain(before).strip('() .')}, {plain(last).strip('() .')}"
        yield Statement(0, 0, (contents if is_list else last,), "line")
    letters = {match[1] for match in _OPTION_LINE.finditer(tail)}
    letters |= {match[1] for match in _OPTION_LINE.finditer(head)}
    letters |= set(_OPTION_IN_LINE.findall(last))
    is_one_of_several = len(letters) > 1 and _OPTION_LINE.match(last) is not None
    if len(letters) == 1:
        if _OPTION_LINE.match(last):
            yield Statement(0, 0, (last,), "line")
        first = head.partition("\n")[0]
        if _OPTION_LINE.match(first):
            yield Statement(0, 0, (first,), "first_line", text[len(first) : MAX_CONTENT_CHARS])
    if is_one_of_several:
        return
    if len(last) <= MAX_CHARS:
        yield Statement(0, 0, (last,), "line", is_letter_only=True)
    sentence = last_sentence(text)
    if sentence is not None:
        yield sentence


def _judge(statement: Statement, question: Question) -> Choice | None:
    """Return a verdict; None if the statement chooses nothing."""
    if statement.refusal:
        return Choice(False, statement.refusal, "", statement.source)
    if statement.is_refusing:
        return None
    content = _with_unit_behind(", ".join(statement.contents), statement)
    found = _by_options(statement, content, question) if question.options else None
    found = found or (_open(statement, content, question) if not question.options else None)
    if found is None:
        return None
    is_right, reason = found
    return Choice(is_right, reason, content, statement.source)


def _with_unit_behind(content: str, statement: Statement) -> str:
    r"""Return `5 m/s` for `\boxed{5}\text{ m/s}`."""
    if statement.source != "box" or len(content) > _MAX_NUMBER_CHARS:
        return content
    number = read_quantity(content)
    behind = re.split(r"[.,;\n$]", statement.after[:_MAX_UNIT_CHARS], maxsplit=1)[0].strip()
    if number is None or number.unit is not None or not behind:
        return content
    whole = read_quantity(f"{content} {behind}")
    is_measured = whole is not None and whole.unit is not None and not whole.unit.nouns
    return f"{content} {behind}" if is_measured else content


def _by_options(statement: Statement, content: str, question: Question) -> tuple[bool, str] | None:
    keys = frozenset(question.options)
    is_lone = len(plain(content).strip(" .()")) == 1
    texts = frozenset() if is_lone else _options_named(content, question)
    if texts:
        return _verdict(texts, question, statement)
    letters = read_letters(content, keys) or _before_text(content, question)
    if letters is not None:
        if not letters.letters or not _is_clear(statement, letters, question):
            return None
        if not set(letters.letters) <= keys:
            named = _options_named(content, question)
            return _verdict(named, question, statement) if named else (False, "not_an_option")
        return _by_letters(letters, question, statement)
    if _NO_CHOICE.match(plain(content)):
        return None
    several = _several(content, question)
    if several:
        return _verdict(several, question, statement, is_or=bool(re.search(r"\bor\b", content)))
    if is_lone:
        return _named_or_none(content, question, statement)
    if statement.source in ("line", "sentence") or statement.is_letter_only:
        return None
    if statement.is_line or statement.source == "box":
        return False, "not_an_option"
    cut = next(_cuts(content))
    is_remark = _REMARK.match(plain(content)) or len(cut.split()) > 12
    return None if is_remark else (False, "not_an_option")


def _is_clear(statement: Statement, letters: Letters, question: Question) -> bool:
    """Say whether a letter is meant as the answer: more is asked of a line without "answer"."""
    is_bare = statement.source == "sentence" or (
        statement.source == "line" and statement.is_letter_only
    )
    if not is_bare and not statement.is_letter_only:
        return True
    rest = letters.rest.strip(" .!*_)")
    if not rest or re.match(r",?\s*(?:because|since)\b", letters.rest):
        return True
    if not is_bare and re.match(r"\s*[.,;:\u3002\uff0c]", letters.rest):
        return True
    return "?" not in rest and bool(_options_named(rest.strip(" .:,;-"), question))


def _before_text(content: str, question: Question) -> Letters | None:
    """Read `C chloroplast`: a letter with nothing but an option's text behind it."""
    match = re.match(r"([A-Z])(?:\s*[=/]\s*|\s+)(\S.*)", plain(content), re.DOTALL)
    if match is None or match[1] not in question.options:
        return None
    is_named = any(_options_of(cut, question) for cut in _cuts(match[2]))
    return Letters((match[1],), match[2], is_separated=True) if is_named else None


def _named_or_none(
    content: str, question: Question, statement: Statement
) -> tuple[bool, str] | None:
    named = _options_named(content, question)
    return _verdict(named, question, statement) if named else None


def _by_letters(letters: Letters, question: Question, statement: Statement) -> tuple[bool, str]:
    chosen = frozenset(letters.letters)
    if len(chosen) > 1 and letters.has_alternatives:
        return False, "hedged"
    if len(chosen) == 1:
        (letter,) = chosen
        if _contradicts(letter, letters, question):
            return False, "contradiction"
        following = letters.rest + "\n" + statement.after
        if withdraws(following, letter):
            return False, "withdrawn"
        if len(question.letters) == 1 and doubts(following, letter, frozenset(question.options)):
            return False, "hedged"
    return _verdict(chosen, question, statement)


def _verdict(
    chosen: frozenset[str], question: Question, statement: Statement, *, is_or: bool = False
) -> tuple[bool, str]:
    if is_or:
        return False, "hedged"
    if chosen == question.letters:
        return True, "option"
    if len(chosen) > 1 and len(question.letters) == 1:
        return False, "hedged"
    return False, "other_option"


def _contradicts(letter: str, letters: Letters, question: Question) -> bool:
    """Say whether the text beside a letter is another option's, or another value than its own."""
    rest = _LINK.sub("", letters.rest).strip(" .,:;)(-\u2013\u2014*")
    if not rest:
        return False
    for cut in (*_cuts(rest), *(part.strip() for part in rest.split(")")[:1])):
        named = _options_of(cut, question)
        if letter in named:
            return False
        if named:
            return True
    longest = _longest_prefix(rest, question)
    if longest:
        return longest != letter
    own = read_quantity(question.options[letter])
    given = read_quantity(next(_cuts(rest))) if letters.is_separated else None
    if own is None or given is None:
        return False
    distance = difference(own, given, 0.05)
    return distance is None or distance > 1


def _longest_prefix(rest: str, question: Question) -> str:
    """Return the option whose text a rest begins with, the longest one."""
    said = equality.words(rest)
    fitting = [
        (len(text), letter)
        for letter, text in ((key, equality.words(each)) for key, each in question.options.items())
        if len(text) > 2 and re.match(rf"{re.escape(text)}(?!\w)", said)
    ]
    return max(fitting)[1] if fitting else ""


def _options_named(content: str, question: Question) -> frozenset[str]:
    """Return the options whose whole text or value a text is, itself or a first part of it."""
    for cut in _cuts(content):
        found = _options_of(cut, question)
        if found:
            return found
    return frozenset()


def _options_of(text: str, question: Question) -> frozenset[str]:
    """Return the option that a text is: by words, else the nearest in value."""
    said = equality.words(text)
    if not said:
        return frozenset()
    exact = {
        key
        for key, each in question.options.items()
        if equality.words(each) == said and (len(said) > 1 or each == text.strip(" .*$"))
    }
    if len(exact) > 1:  # options that differ in case or marks: Co, CO
        strict = {key for key in exact if question.options[key].strip() == text.strip(" .*")}
        exact = strict or exact
    if exact and all(equality.is_same(question.options[key], text) for key in exact):
        return _same_texts(exact, question)
    if len(text) > MAX_CHARS:
        return frozenset()
    fitting = [
        key
        for key, each in question.options.items()
        if equality.is_same(each, text, question.tolerance)
    ]
    if len(fitting) > 1:
        fitting = _nearest(fitting, text, question)
    return _same_texts(set(fitting), question)


def _same_texts(found: set[str], question: Question) -> frozenset[str]:
    """Of options with one text, take the right one if it is among them."""
    texts = {question.options[key] for key in found}
    if len(texts) == 1 and len(found) > 1 and question.letters <= found:
        return question.letters
    return frozenset(found)


def _nearest(fitting: list[str], text: str, question: Question) -> list[str]:
    given = read_quantity(text)
    measured = [(read_quantity(question.options[key]), key) for key in fitting]
    if given is None or any(each is None for each, _ in measured):
        return fitting
    gaps = {key: difference(each, given, question.tolerance) for each, key in measured if each}
    least = min(gap for gap in gaps.values() if gap is not None)
    return [key for key, gap in gaps.items() if gap == least]


def _several(content: str, question: Question) -> frozenset[str]:
    """Return the options of a list of option texts: "the ribosome or the nucleus"."""
    parts = [part for part in _OR.split(next(_cuts(content))) if part.strip()]
    if not 1 < len(parts) <= 10:
        return frozenset()
    named = [_options_of(re.sub(r"^(?:either|both)\s", "", part), question) for part in parts]
    return frozenset().union(*named) if all(named) else frozenset()


def _cuts(content: str) -> Iterator[str]:
    """Yield a text, its first sentence, and that without its explanation."""
    whole = re.sub(r"^that\s+", "", content.strip(' \t*_`"'))
    sentence = _SENTENCE.split(whole, maxsplit=1)[0].strip(' *_`"')
    yield sentence
    if whole != sentence:
        yield whole
    bare = _WHY.sub("", sentence).strip(' *_`",;:')
    if bare and bare != sentence:
        yield bare
    name = re.match(r"([A-Za-z][A-Za-z ]{2,60}?)(?:\s[-\u2013\u2014]|:)\s", bare)
    if name:
        yield name[1]
    label = re.match(r"[^:=]{1,40}:\s+(?=\S)", bare)
    if label:
        yield bare[label.end() :]
    aside = re.match(r"(.+?)\s*\([^()]{1,80}\)\.?$", bare)
    if aside:
        yield aside[1]


def _open(statement: Statement, content: str, question: Question) -> tuple[bool, str] | None:
    if question.letters:
        return _open_letter(statement, content, question)
    if _NO_CHOICE.match(plain(content)):
        return None
    if any(equality.is_same(question.text, cut, question.tolerance) for cut in _cuts(content)):
        return True, "equal"
    symbol = _SYMBOL_BEHIND_NAME.fullmatch(next(_cuts(content)))
    if symbol and equality.is_symbol(question.text) and equality.is_same(question.text, symbol[1]):
        return True, "equal"
    if statement.source in ("line", "first_line") or statement.is_letter_only:
        return None
    is_loose = statement.source == "phrase" and not statement.is_line
    if is_loose and (_REMARK.match(plain(content)) or len(next(_cuts(content)).split()) > _FAR):
        return None
    return False, "different"


def _open_letter(statement: Statement, content: str, question: Question) -> tuple[bool, str] | None:
    """Judge where only the letter of the right option is known."""
    letters = read_letters(content, question.letters | _ANY_LETTERS)
    if letters is None:
        is_final = statement.is_line or statement.source == "box"
        return (False, "not_a_letter") if is_final else None
    if not letters.letters:
        return None
    chosen = frozenset(letters.letters)
    if len(chosen) > 1 and (letters.has_alternatives or len(question.letters) == 1):
        return False, "hedged"
    if len(chosen) == 1:
        (letter,) = chosen
        following = letters.rest + "\n" + statement.after
        if withdraws(following, letter):
            return False, "withdrawn"
        if doubts(following, letter, _ANY_LETTERS):
            return False, "hedged"
    return (True, "option") if chosen == question.letters else (False, "other_option")
