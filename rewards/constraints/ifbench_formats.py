"""IFBench's `format:` instructions, checked by what they mean."""

from itertools import pairwise
from unicodedata import category

import regex

from rewards.constraints import kinds
from rewards.constraints.catalogue import Constraint
from rewards.constraints.sentences import sentences
from rewards.constraints.text import bare, has_words, lines, squeezed, straight, words
from rewards.constraints.word_lists import MINOR_WORDS

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_MIN_NESTING = 5
_MIN_QUOTES = 3
_EMOJI = (
    r"(?:[\p{Extended_Pictographic}\p{Regional_Indicator}]|[0-9#*]\ufe0f?\u20e3)"
    r"[\ufe0f\u200d\u20e3\U000e0020-\U000e007f\p{Emoji_Modifier}\p{Extended_Pictographic}\p{Regional_Indicator}]*"
)
_LEADING_EMOJIS = regex.compile(rf"[\s\"')\]*_]*{_EMOJI}(?:\s*{_EMOJI})*")
_ENDS_IN_EMOJI = regex.compile(rf"{_EMOJI}$")
_LONGEST_EMOJI = 16
"""Characters: a flag of a region has seven, a family with skin tones eleven."""
_BULLET = regex.compile(r"\s*\*\s++.*[^\W_]")
_SUB_BULLET = regex.compile(r"\s*-\s++.*[^\W_]")
_HEADING = regex.compile(
    r"\s*(?:#{1,6}\s|<h[1-6]\b|\*\*[^*]+\*\*:?\s*$|(?:section|part|chapter)\s+\w+[.:]?\s*$)",
    regex.IGNORECASE,
)
_THESIS = regex.compile(
    r"\s*(?:<p[^<>]*>\s*)?<(?P<tag>i|em)>(?P<thesis>.*?)</(?P=tag)>(?P<rest>.*)",
    regex.IGNORECASE | regex.S,
)
_TAG = regex.compile(r"<[^<>]*>")
_LABELS = ("My Answer:", "My Conclusion:", "Future Outlook:")
_MARKDOWN = " \t\n\r*_`\"'"


def parentheses(text: str) -> bool:
    """Brackets nest five deep, each closed by its own kind."""
    stack: list[tuple[str, int]] = []
    for character in text:
        if character in "([{":
            stack.append((character, 1))
        elif character in _CLOSERS and stack:
            opener, height = stack.pop()
            if opener != _CLOSERS[character]:
                stack.clear()
            elif height >= _MIN_NESTING:
                return True
            elif stack:
                stack[-1] = (stack[-1][0], max(stack[-1][1], height + 1))
    return False


def quotes(text: str) -> bool:
    """Quotes nest three deep, double and single in turn; apostrophes are no quotes."""
    plain = straight(text)
    stack: list[tuple[str, int]] = []
    for index, character in enumerate(plain):
        if character not in "\"'" or _is_apostrophe(plain, index, stack):
            continue
        if stack and stack[-1][0] == character:
            _, height = stack.pop()
            if height >= _MIN_QUOTES:
                return True
            if stack:
                stack[-1] = (stack[-1][0], max(stack[-1][1], height + 1))
        else:
            stack.append((character, 1))
    return False


def _is_apostrophe(text: str, index: int, stack: list[tuple[str, int]]) -> bool:
    if text[index] != "'" or index == 0 or not text[index - 1].isalnum():
        return False
    is_inside = text[index + 1 : index + 2].isalnum()
    return is_inside or not stack or stack[-1][0] != "'"


def options(text: str, *, options: str) -> bool:
    """The whole text is one of the options, case and punctuation around it aside."""
    allowed = [squeezed(option) for option in _split_options(options)]
    given = squeezed(text)
    if len(set(map(bare, allowed))) < len(allowed):  # such as C/C++
        return given in allowed
    return bool(bare(given)) and bare(given) in map(bare, allowed)


def _split_options(options: str) -> list[str]:
    for separator in (r"\s*/\s*", r"\s+or\s+", r"\s*,\s*"):
        parts: list[str] = regex.split(separator, options)
        if len(parts) > 1:
            return parts
    return [options]


def newline(text: str) -> bool:
    """Two lines or more, each with exactly one word."""
    found = [sum(map(has_words, line.split())) for line in lines(text)]
    return sum(found) > 1 and all(number <= 1 for number in found)


def emoji(text: str) -> bool:
    """Each sentence ends with an emoji, before or after its mark."""
    found = _with_emojis(text)
    return bool(found) and all(map(_ends_in_emoji, found))


def _ends_in_emoji(part: str) -> bool:
    length = len(part)
    while length and (part[length - 1].isspace() or category(part[length - 1])[0] == "P"):
        length -= 1
    return _ENDS_IN_EMOJI.search(part[max(0, length - _LONGEST_EMOJI) : length]) is not None


def _with_emojis(text: str) -> list[str]:
    """Return the sentences, each with the emojis that follow its mark."""
    parts: list[str] = []
    for sentence in _all_parts(text):
        leading = _LEADING_EMOJIS.match(sentence)
        if leading and parts:
            parts[-1] += leading.group()
            sentence = sentence[leading.end() :]
        if has_words(sentence):
            parts.append(sentence)
        elif parts:
            parts[-1] += sentence
    return parts


def _all_parts(text: str) -> list[str]:
    """Return the sentences with what stands between them: emojis alone are no sentence."""
    parts, start = [], 0
    plain = straight(text)
    for sentence in sentences(plain):
        end = plain.index(sentence, start) + len(sentence)
        parts.append(plain[start:end])
        start = end
    return [*parts, plain[start:]]


def line_indent(text: str) -> bool:
    """Two lines or more, each indented further than the one before; blank lines don't count."""
    indents = [len(line) - len(line.lstrip()) for line in lines(text.expandtabs())]
    return len(indents) > 1 and all(before < after for before, after in pairwise(indents))


def quote_unquote(text: str) -> bool:
    """There is a quoted phrase, and words that are not quoted follow each."""
    parts = straight(text).split('"')
    # Odd places are quoted, even ones not; without a closing mark the last one is neither.
    explanations = parts[2::2]
    is_quoted = any(map(has_words, parts[1 : len(parts) - 1 : 2]))
    return is_quoted and all(map(has_words, explanations))


def special_list(text: str, *, sep: str) -> bool:
    """Two items or more, each begun by the separator."""
    mark, last = regex.escape(sep), regex.escape(sep[-1])
    _, *found = regex.split(rf"(?<!\S){mark}(?!{last})", text)
    return sum(map(has_words, found)) > 1


def thesis(text: str) -> bool:
    """Each section, or the text if it has no headings, begins with <i> or <em>; text follows."""
    found = _sections(text)
    return bool(found) and all(map(_begins_with_thesis, found))


def _sections(text: str) -> list[str]:
    """Return what stands below the headings; the whole text where there are none."""
    sections: list[list[str]] = [[]]
    has_heading = False
    for line in text.splitlines():
        if _HEADING.match(line):
            has_heading = True
            sections.append([])
        else:
            sections[-1].append(line)
    bodies = ["\n".join(section) for section in sections[has_heading:]]
    return [body for body in bodies if body.strip()]


def _begins_with_thesis(section: str) -> bool:
    found = _THESIS.match(section)
    if found is None:
        return False
    return all(has_words(_TAG.sub("", found[name])) for name in ("thesis", "rest"))


def sub_bullets(text: str) -> bool:
    """There are bullets with *, and below each at least one with -."""
    counts: list[int] = []
    for line in lines(text):
        if _BULLET.match(line):
            counts.append(0)
        elif _SUB_BULLET.match(line) and counts:
            counts[-1] += 1
    return bool(counts) and all(counts)


def no_bullets_bullets(text: str) -> bool:
    """Two sentences or more that end with a period, then two bullets or more with *."""
    found = lines(text)
    bullets = [index for index, line in enumerate(found) if _BULLET.match(line)]
    if len(bullets) < 2:
        return False
    before = sentences("\n".join(found[: bullets[0]]))
    return sum(sentence.rstrip("\"')*_").endswith(".") for sentence in before) >= 2


def title_case(text: str) -> bool:
    """Each word begins with a capital; articles, conjunctions, short prepositions need none."""
    found = [word for word in words(text) if word[0].isalpha()]
    if not found or not (found[0][0].isupper() or found[0][0].lower() == found[0][0].upper()):
        return False
    return not any(word[0].islower() and word not in MINOR_WORDS for word in found)


def output_template(text: str) -> bool:
    """The text begins with the first label; the three follow in order, each with something."""
    plain = text.replace("*", "").replace("#", "").strip(_MARKDOWN)
    positions = [plain.find(label) for label in _LABELS]
    if positions[0] != 0 or not positions[0] < positions[1] < positions[2]:
        return False
    stops = [*positions[1:], len(plain)]
    return all(
        has_words(plain[start + len(label) : stop])
        for start, stop, label in zip(positions, stops, _LABELS, strict=True)
    )


def no_whitespace(text: str) -> bool:
    """No white space but at the ends."""
    return not any(map(str.isspace, text.strip()))


CONSTRAINTS = {
    "format:parentheses": Constraint(parentheses),
    "format:quotes": Constraint(quotes),
    "format:options": Constraint(options, {"options": kinds.text}),
    "format:newline": Constraint(newline),
    "format:emoji": Constraint(emoji),
    "format:line_indent": Constraint(line_indent),
    "format:quote_unquote": Constraint(quote_unquote),
    "format:list": Constraint(special_list, {"sep": kinds.text}),
    "format:thesis": Constraint(thesis),
    "format:sub-bullets": Constraint(sub_bullets),
    "format:no_bullets_bullets": Constraint(no_bullets_bullets),
    "format:title_case": Constraint(title_case),
    "format:output_template": Constraint(output_template),
    "format:no_whitespace": Constraint(no_whitespace),
}
"""Id -> constraint."""
