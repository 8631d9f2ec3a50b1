r"""Letters of options in a text that answers: `(B)`, `\text{B}`, `B. ribosome`, `A and C`.

A letter counts only where nothing but an answer can be meant: alone, in brackets, before a mark or
an explanation. Letters in formulas (`C = Q/V`) and words ("A plant") never do.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Letters:
    """What a text chooses by letter."""

    letters: tuple[str, ...]
    """Distinct, in order; empty if the text only refuses some."""
    rest: str
    """What the text says beside: the option's text, or an explanation."""
    has_alternatives: bool = False
    """Joined by "or" or a stroke."""
    is_separated: bool = False
    """Whether a bracket or mark divides letter and rest."""


_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_WIDE |= {0x24B6 + n: chr(65 + n) for n in range(26)}
_MARKUP = re.compile(
    r"\\(?:text(?:bf|rm|it|sf|tt)?|math(?:bf|rm|it|sf)|mbox|boxed|fbox|operatorname|left|right"
    r"|displaystyle|bf|rm|underline)(?![a-zA-Z])\s?|\\[()\[\],;:! ]|\\q?quad(?![a-zA-Z])"
    r"|[$`{}]|\*{2,}|__|(?<!\w)\*|\*(?!\w)|(?<!\w)_|_(?!\w)|</?(?:b|strong|answer)>"
)
_FILLER = re.compile(
    r"(?:(?:the|my|both|either|only|just|simply|indeed|hence|definitely|clearly|probably|likely|most|"
    r"therefore|thus|correct|right|best|final|so|but|rather|it\s+is|it's|letter|options?|choices?|"
    r"answers?|is)\b\s*[:=]?\s*|\u9009\u9879|\u9009|\u662f|[-\s:;,.>]+)+",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?P<open>[(\[<\"'\u201c\u300c\u3010]\s?)?(?P<letter>[A-Za-z])"
    r"(?P<close>(?(open)\s?[)\]>\"'\u201d\u300d\u3011]|\s?[)\]]))?(?![A-Za-z0-9^_=+*/\\'\u2019\u00b0-]|\s?(?:[=+^<>]|\\))"
)
_JOINT = re.compile(
    r"\s*(?:,|;|\u3001|\u548c|\u4e0e|\u53ca|\u6216\u8005?|&|/|\+)?\s*(?:(?:and|or|as well as)\b)?"
    r"(?:/or\b)?\s*(?:possibly|maybe|perhaps|also|even|option|choice|answer)?\s*",
    re.IGNORECASE,
)
_STROKE = re.compile(r"(?P<first>[A-Z])(?P<more>(?:\s?/\s?[A-Z])+)(?![\w^])")
_AFTER = re.compile(
    r"\s*(?:$|\.(?![A-Za-z0-9])|[,:;)\]!?\u3002\uff0c\u3001(\u2014\u2013|\n]|-\s|->|[\u2192\u2019\u2713\u2714\u2705\u4e00-\u9fff]|"
    r"(?:because|since|as|is|are|was|which|with|for|due|so|where|given|that|but|though|although|"
    r"rather|not|and|or|option|choice|by|in|from|if|when|while|would|must|cannot|can't|has|have|"
    r"\u548c|\u4e0e|\u6216|\u9879|\u56e0\u4e3a|\u662f|\u6b63\u786e)\b)",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\.\s?[a-z]+\s*[.]?$")
"""`E. coli`: a genus, not an option."""
_REFUSED = re.compile(
    r"(?:[,;]?\s*(?i:and|but)\s+)?(?:\b(?i:(?:is|are|can|could|must|should|it'?s)\s+)?"
    r"(?i:not|nor|neither|never|rather than|instead of|as opposed to|except|excluding)|\bisn't"
    r"|\u4e0d\u662f|\u4e0d\u9009|\u800c\u975e)\s*(?:be\s+)?"
    r"(?:(?:the\s+)?(?:option|choice|answer|letter)\s*)?[(\[]?[A-Z](?![\w^=])[)\]]?"
    r"(?:\s*(?:,|or|nor|and)\s*(?:not\s+)?[(\[]?[A-Z](?![\w^=])[)\]]?)*"
)
_IS_WRONG = re.compile(
    r",?\s*(?:which\s+)?(?:is|are|was|seems|looks|can be|must be)\s+"
    r"(?:clearly\s+|also\s+|definitely\s+)?"
    r"(?:wrong|incorrect|false|not\b|ruled out|excluded|eliminated|out\b|impossible|invalid)"
    r"|\s*(?:cannot|can't|isn't|won't)\b|\s*(?:\u662f)?(?:\u9519|\u4e0d\u6b63\u786e|\u4e0d\u5bf9)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|alternatively|could(?: also)? be|might(?: also)? be|"
    r"may(?: also)? be|unless|not sure)\b[^.\n]{0,24}?"
    r"(?<![\w(=])[(\[]?(?P<letter>[A-Z])(?=[)\].,;:!?\s]|$)(?!\s+[a-z]|\s?[=+^])",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"(?<![\w^=+])[(\[]?(?P<letter>[B-HJ-Z])[)\]]?\s+"
    r"(?:is|(?:would|could|might|may) be|seems|looks)"
    r"\s+(?:also\s+)?(?:possible|plausible|correct|right|fine|valid|acceptable)"
)
_CHANGED = re.compile(
    r"\b(?i:actually|correction|wait|hold on|scratch that|on second thought|instead|no,)"
    r"[^\n]{0,60}?(?<![\w(=])[(\[]?(?P<letter>[A-Z])(?=[)\].,;:!?]|$)"
)
_CORRECTED = re.compile(
    r"\b(?i:correct|right|true|actual|best)\s(?i:one|answer|option|choice|letter)\s"
    r"(?i:is|was|must be|should be|has to be)\s(?i:actually\s|rather\s|really\s)?(?i:option\s)?"
    r"[(\[]?(?P<letter>[A-Z])(?=[)\].,;:!?\s]|$)(?!\s+[a-z]|\s?[=+^])"
)
_NEXT_LINE = re.compile(r"\s*[(\[]?(?P<letter>[A-Z])[)\].]?\s*(?:\n|$)")
_TRAILING = re.compile(
    r"(?:\s\(\s?(?:option|choice|answer)?\s?(?P<a>[A-Z])\s?\)|[\s,(]\s?(?:option|choice)\s"
    r"[(\[]?(?P<b>[A-Z])[)\]]*|,\s(?P<c>[A-Z])|\s[-\u2013\u2014]\s\(?(?P<d>[A-Z])\)?)[.!\s]*$"
)


def plain(text: str) -> str:
    """Return a text without markdown, TeX that only frames, and full-width forms."""
    return _MARKUP.sub("", text.translate(_WIDE)).strip()


def read_letters(content: str, allowed: frozenset[str]) -> Letters | None:
    """Return the letters that a text chooses; None if it does not speak in letters.

    `allowed` are the letters there are; a lone capital letter beyond counts too, so that it can
    be found wrong.
    """
    text = plain(content)
    kept = _REFUSED.sub("", text)
    is_refusing = kept != text
    text = re.sub(r"^[\s,;.:]*(?:but|it is|it's|it must be)\s+", "", kept) if is_refusing else text
    found = _leading(text, allowed) or _trailing(text)
    if found is None and is_refusing and not kept.strip(" .,;:!"):
        return Letters((), "")
    return found


def doubts(text: str, letter: str, allowed: frozenset[str]) -> bool:
    """Say whether what follows a choice offers another letter: "or maybe C", "could be C"."""
    text = plain(text)
    if re.match(r"[\s,(]*(?:or|maybe|perhaps|possibly)\b(?! more)", text):
        return True
    following = _NEXT_LINE.match(text)
    if following and following["letter"] in allowed - {letter}:
        return True
    named = (
        match["letter"]
        for pattern in (_DOUBT, _ALSO, _CHANGED, _CORRECTED)
        for match in pattern.finditer(text)
    )
    return any(each != letter and each in allowed for each in named)


def withdraws(text: str, letter: str) -> bool:
    """Say whether what follows a choice refuses it: "not B", "B is wrong"."""
    text = plain(text)
    for match in _REFUSED.finditer(text):
        if letter in re.findall(r"\b[A-Z]\b", match.group()):
            return True
    own = re.compile(rf"(?<![\w^=+])[(\[]?{letter}[)\]]?(?=\s|\u662f)")
    return any(_IS_WRONG.match(text, match.end()) for match in own.finditer(text))


def _leading(text: str, allowed: frozenset[str]) -> Letters | None:
    filler = _FILLER.match(text)
    start = filler.end() if filler else 0
    compact = re.fullmatch(r"([A-Z]{2,})[.\s]*", text[start:])
    if compact and set(compact[1]) <= allowed and len(set(compact[1])) == len(compact[1]):
        return Letters(tuple(compact[1]), "")
    stroke = _STROKE.match(text, start)
    if stroke and set(re.findall("[A-Z]", stroke.group())) <= allowed:
        return Letters(tuple(dict.fromkeys(re.findall("[A-Z]", stroke.group()))), "", True)
    first = _item(text, start)
    if first is None:
        return None
    letters, end, is_or = [first["letter"].upper()], first.end(), False
    while True:
        joint = _JOINT.match(text, end)
        assert joint is not None
        item = _item(text, joint.end(), is_capital=True)
        is_tight = not joint.group().strip()
        if item is None or (is_tight and not (first["open"] and item["open"] and item["close"])):
            break
        is_or |= bool(re.search(r"\bor\b|/|\u6216", joint.group(), re.IGNORECASE))
        letters.append(item["letter"])
        end = item.end()
    rest = text[end:]
    if _IS_WRONG.match(rest):
        return Letters((), rest)
    if _ABBREVIATION.match(rest) and not first["close"] and len(rest.split()) == 1:
        return None
    is_separated = bool(
        first["close"] or re.match(r"\s?[.:)\u3002\uff1a]|\s[-\u2013\u2014]\s", rest)
    )
    return Letters(tuple(dict.fromkeys(letters)), rest, is_or, is_separated)


def _item(text: str, start: int, *, is_capital: bool = False) -> "re.Match[str] | None":
    """Return a letter at a place, if it is one of an option."""
    item = _ITEM.match(text, start)
    if item is None:
        return None
    rest = text[item.end() :]
    if item["letter"].islower():
        is_lone = not rest.strip(" .!\n\u3002")
        is_marked = bool(item["open"] and item["close"]) or re.match(r"[.):]\s|[)]", rest)
        is_framed = item["close"] and item["close"].strip() == ")"
        return item if not is_capital and (is_lone or is_marked or is_framed) else None
    is_framed = bool(item["close"])
    return item if is_framed or _AFTER.match(rest) else None


def _trailing(text: str) -> Letters | None:
    """Read `nucleus (D)` and `the nucleus, option D`."""
    match = _TRAILING.search(text[-200:])
    if match is None or re.search(r"[=+^\\]", text[-200:][: match.start()][-3:]):
        return None
    letter = next(group for group in match.groups() if group)
    before = text[: len(text) - len(text[-200:]) + match.start()]
    return Letters((letter,), before, is_separated=True)
