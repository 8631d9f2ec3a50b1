"""IFBench's `format:` instructions as the official code judges them."""

import re
import string
from itertools import pairwise

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.ifbench_official_counts import NO_PUNCTUATION
from rewards.constraints.sentences import official_sentences
from rewards.constraints.text import PUNCTUATION
from rewards.constraints.treebank import official_words

_PAIRS = {")": "(", "]": "[", "}": "{"}
_MIN_NESTING = 5
_MIN_QUOTES = 3
_EMOJI = regex.compile(r"[\p{Emoji}--[0-9#*\p{Regional_Indicator}]]", regex.V1)
_ALL_BUT_QUOTE = string.digits + string.punctuation.replace('"', "")


def parentheses(text: str) -> bool:
    """Five brackets are open at once and one of the deepest is closed."""
    levels: list[str] = []
    deepest = 0
    for character in text:
        if character in "([{":
            levels.append(character)
            deepest = max(deepest, len(levels))
        elif character in _PAIRS:
            if not levels or levels.pop() != _PAIRS[character]:
                levels, deepest = [], 0
            elif deepest >= _MIN_NESTING:
                return True
    return False


def quotes(text: str) -> bool:
    """Three marks of quotes, apostrophes among them, nest and close."""
    levels: list[str] = []
    deepest = 0
    for character in text:
        if levels and character == levels[-1]:
            levels.pop()
            if deepest - len(levels) >= _MIN_QUOTES:
                return True
        elif character in "\"'":
            levels.append(character)
            deepest = max(deepest, len(levels))
    return False


def options(text: str, *, options: str) -> bool:
    """The text is an option; an option list a, b, c is compared to the letter."""
    separator = "/" if "/" in options else "or" if "or" in options else ","
    allowed = [option.strip() for option in options.split(separator)]
    if re.match(r"\W*[aA]\W*[bB]\W*[cC]\W*", options):
        return text in allowed
    given = text.strip(PUNCTUATION).lower()
    return given in [option.strip(PUNCTUATION).lower() for option in allowed]


def newline(text: str) -> bool:
    """As many lines as words once punctuation is deleted; a line of spaces is one."""
    plain = text.translate(NO_PUNCTUATION).strip()
    return sum(line != "" for line in plain.split("\n")) == len(plain.split())


def emoji(text: str) -> bool:
    """Each sentence ends with an emoji, or the next begins with one."""
    found = [sentence.translate(NO_PUNCTUATION).strip() for sentence in official_sentences(text)]
    for index, sentence in enumerate(found):
        if not sentence:
            return False
        following = found[index + 1][:1] if index + 1 < len(found) else ""
        if not any(map(_EMOJI.fullmatch, (*sentence[-2:], following))):
            return False
    return True


def line_indent(text: str) -> bool:
    """Each line has more spaces before it; of blank lines in a row every second one counts."""
    kept = _without_some_blanks(text.split("\n"))
    indents = [len(line) - len(line.lstrip(" ")) for line in kept]
    return all(before < after for before, after in pairwise(indents))


def _without_some_blanks(lines: list[str]) -> list[str]:
    # The official code removes from the list that it walks over: the line after a removed one is
    # not looked at, and what is removed is the first line equal to the blank one.
    kept = list(lines)
    index = 0
    while index < len(kept):
        if not kept[index].strip():
            kept.remove(kept[index])
        index += 1
    return kept


def quote_unquote(text: str) -> bool:
    """No two quotes touch, and none ends the text; no quote at all will do."""
    plain = "".join(text.replace("'\"'", "").split())
    return '""' not in plain and not plain.strip(_ALL_BUT_QUOTE).endswith('"')


def special_list(text: str, *, sep: str) -> bool:
    """The separator occurs twice, wherever."""
    return text.count(sep) >= 2


def thesis(text: str) -> bool:
    """One passage in italics, with text after it."""
    start = text.find("<i>") if "<i>" in text else text.find("<em>")
    if start == -1:
        return False
    rest = text[start:]
    end = rest.find("</i>") if "</i>" in rest else rest.find("</em>")
    return end != -1 and bool(rest[3:end].strip()) and bool(rest[end + 4 :].strip())


def sub_bullets(text: str) -> bool:
    """A - follows each *; no bullet at all will do."""
    return all("-" in bullet for bullet in text.split("*")[1:])


def no_bullets_bullets(text: str) -> bool:
    """Two sentences of any end, then two lines with * and nothing else, no blank line either."""
    num_sentences = num_bullets = 0
    is_prose = True
    for line in text.split("\n"):
        if line.strip().startswith("*"):
            if num_sentences < 2:
                return False
            is_prose = False
            num_bullets += 1
        elif not is_prose:
            return False
        else:
            found = official_sentences(line.strip())
            num_sentences += len(found)
            # A blank line ends the prose: after it only bullets may come.
            is_prose = bool(found)
    return num_bullets >= 2


def title_case(text: str) -> bool:
    """No token is small throughout, or small before capitals; minor words too."""
    return not any(
        word[0].islower() and (len(word) == 1 or word[1:].islower() or word[1:].isupper())
        for word in official_words(text)
        if word[0].isalpha()
    )


def output_template(text: str) -> bool:
    """The three labels occur."""
    return all(label in text for label in ("My Answer:", "My Conclusion:", "Future Outlook:"))


def no_whitespace(text: str) -> bool:
    """No white space, at the ends neither."""
    return not any(map(str.isspace, text))


CONSTRAINTS = {
    "format:parentheses": Constraint(parentheses),
    "format:quotes": Constraint(quotes),
    "format:options": Constraint(options, {"options": kinds.raw_text}),
    "format:newline": Constraint(newline),
    "format:emoji": Constraint(emoji, is_approximate=True),
    "format:line_indent": Constraint(line_indent),
    "format:quote_unquote": Constraint(quote_unquote),
    "format:list": Constraint(special_list, {"sep": kinds.raw_text}),
    "format:thesis": Constraint(thesis),
    "format:sub-bullets": Constraint(sub_bullets),
    "format:no_bullets_bullets": Constraint(no_bullets_bullets),
    "format:title_case": Constraint(title_case),
    "format:output_template": Constraint(output_template),
    "format:no_whitespace": Constraint(no_whitespace),
}
"""Id -> constraint."""
