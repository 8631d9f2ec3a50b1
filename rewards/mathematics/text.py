r"""One spelling for one formula: what never changes a value is dropped or renamed.

`normalise` keeps a space between letters or digits (`1 1/2` is not `11/2`) and keeps words apart
from letters of a formula: `\mbox{ cm}`, `\textrm{cm}` and the like all become `\text{cm}`.
"""

import re
import unicodedata

_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("\u2212\u2012\u2013\u2014\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00d7\u2715\u2a2f", r"\times "),
        **dict.fromkeys("\u00b7\u22c5\u2219\u2022", r"\cdot "),
        **dict.fromkeys("\u00a0\u2009\u200a\u202f\u2002\u2003\u3000\u0000", " "),
        **dict.fromkeys("\u200b\u2060\ufeff\u200e\u200f", ""),
        "\u00f7": "/",
        "\u2215": "/",
        "\u2044": "/",
        "\u03c0": r"\pi ",
        "\u221e": r"\infty ",
        "\u222a": r"\cup ",
        "\u2229": r"\cap ",
        "\u2264": r"\le ",
        "\u2a7d": r"\le ",
        "\u2265": r"\ge ",
        "\u2a7e": r"\ge ",
        "\u2260": r"\ne ",
        "\u2248": r"\approx ",
        "\u2208": r"\in ",
        "\u2205": r"\emptyset ",
        "\u00b0": r"^\circ ",
        "\u00b1": r"\pm ",
        "\u2213": r"\mp ",
        "\u211d": r"\mathbb{R}",
        "\u2124": r"\mathbb{Z}",
        "\u2115": r"\mathbb{N}",
        "\u211a": r"\mathbb{Q}",
        "\u2211": r"\sum ",
        "\u230a": r"\lfloor ",
        "\u230b": r"\rfloor ",
        "\u2308": r"\lceil ",
        "\u2309": r"\rceil ",
        "\u27e8": "(",
        "\u27e9": ")",
        "\u2032": "'",
        "\u3001": ",",
        **{chr(0x3B1 + n): f"\\{name} " for n, name in enumerate(["alpha", "beta", "gamma"])},
        "\u03b4": r"\delta ",
        "\u03b8": r"\theta ",
        "\u03bb": r"\lambda ",
        "\u03c6": r"\phi ",
        "\u03c9": r"\omega ",
    }
)
_RAISED = dict(
    zip("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "0123456789", strict=True)
)
_RAISED |= {"\u207b": "-", "\u207a": "+", "\u207f": "n"}
_LOWERED = {chr(0x2080 + digit): str(digit) for digit in range(10)}
_RAISED_RUN = re.compile(f"[{''.join(_RAISED)}]+")
_LOWERED_RUN = re.compile(f"[{''.join(_LOWERED)}]+")
_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e]")
_ROOT = re.compile("([\u221a\u221b\u221c])\\s?(\\d+(?:\\.\\d+)?)?")
_ROOT_DEGREE = {"\u221a": "", "\u221b": "[3]", "\u221c": "[4]"}

_RENAMED = {
    **dict.fromkeys(["dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"], r"\frac"),
    **dict.fromkeys(["dbinom", "tbinom"], r"\binom"),
    **dict.fromkeys(["leq", "leqslant", "le"], r"\le "),
    **dict.fromkeys(["geq", "geqslant", "ge"], r"\ge "),
    **dict.fromkeys(["ne", "neq"], r"\ne "),
    **dict.fromkeys(["emptyset", "varnothing"], r"\emptyset "),
    **dict.fromkeys(
        ["text", "mbox", "textrm", "textbf", "textit", "textnormal", "mathrm", "mathbf", "mathit"],
        r"\text",
    ),
    **dict.fromkeys(["operatorname", "texttt", "mathsf", "textsf", "bm", "boldsymbol"], r"\text"),
    **dict.fromkeys(["lvert", "rvert", "vert", "mid"], "|"),
    **dict.fromkeys(["langle"], "("),
    **dict.fromkeys(["rangle"], ")"),
    **dict.fromkeys(["approx", "simeq", "thickapprox"], r"\approx "),
    **dict.fromkeys(["times", "cdot", "ast"], "*"),
    **dict.fromkeys(["lor", "vee"], " or "),
    **dict.fromkeys(
        ["left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl"], ""
    ),
    **dict.fromkeys(["biggr", "Biggl", "Biggr", "limits", "nolimits", "middle"], ""),
    **dict.fromkeys(["displaystyle", "textstyle", "scriptstyle", "boxed", "fbox", "fboxed"], ""),
    **dict.fromkeys(["underline", "uline", "therefore"], ""),
    **dict.fromkeys(["quad", "qquad", "hspace", "rm", "bf", "it"], " "),
    "lt": "<",
    "gt": ">",
    "div": "/",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "degree": r"^\circ ",
    "colon": ":",
    "land": " and ",
    "R": r"\mathbb{R}",
    "varphi": r"\phi ",
    "varepsilon": r"\epsilon ",
}
_COMMAND = re.compile(r"\\([a-zA-Z]+)[ \t]*")
_THOUSANDS = re.compile(r"(?<=\d)(?:,\\!\s{0,4}|\\[!,;]\s{0,4}|\{,\})(?=\d{3}(?!\d))")
_MARKUP = re.compile(r"(?<!\\)\\(?:[()\[\]]|[!,;:> ])|(?<!\\)\$|~|(?<!\\)\\(?=\s)")
_TEXT = re.compile(r"\\text\s{0,4}\{([^{}]*)\}")
_TEXT_FRACTION = re.compile(r"\\frac ?\{\\text\{([^{}]*)\}\}\{\\text\{([^{}]*)\}\}")
_PLAIN_TEXT = re.compile(r"\s*(?:[-+]?[\d.,/]*\d[\d.,/]*|[eiC])\s*")
_COUNTED = re.compile(r"\s*([-+]?[\d.,/]*\d)\s+([A-Za-z][A-Za-z ]*)")
_FUNCTION = re.compile(
    r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)|log|ln|exp|lcm|gcd|max|min|sgn|sinh|cosh|tanh"
)
_CONNECTOR = re.compile(r"\s*,?\s*(and|or)\s*", re.IGNORECASE)
_COLOR = re.compile(r"\\(?:text)?color\s?\{[a-zA-Z]{1,20}\}")
_ORDINAL = re.compile(r"(?<=\d)\^\s?(?:\{\s?)?\\text\s?\{\s?(?:st|nd|rd|th)\s?\}\s?\}?")
_LISTED = re.compile(r"\s*-?\d[\d.,/ -]*(?:(?:and|or) -?\d[\d.,/ -]*)+")
"""`3 and 4` written as text."""
_SUM_OF_MONEY = re.compile(r"\s*\\dollar ?[\d.,]*\d\s*")
_DEGREES = re.compile(r"\^\s?\{\s?\\circ\s?\}|\^\s?\\circ\s?")
_SPACES = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?!(?<=\d,) \d)(?:(?<![A-Za-z0-9.]) | (?![A-Za-z0-9.]))")
"""Not that of `100, 200`: without it, this would be one number."""
_CONDITION = re.compile(
    r"[,;(]?\s?(?:\\text\{)?\s?(?:for (?:all|any|every|each|some|positive|integers?)\b|where\b)"
    r"|[,;(]?\s?\\forall\b|[,;(]\s?[a-zA-Z](?:,[a-zA-Z])*\s?\\in ?\\mathbb\{[NZQR]\}"
)
_NO_REMAINDER = re.compile(
    r"[\s,(]*(?:\\text\{[\s,(]*)?(?:(?:with|and) )?(?:a )?"
    r"(?:(?<=\\text\{)R(?=\})|[Rr]emainder(?: of| is)?)\s?\}?\s?0\s?(?:\)|\\text\{\)\}|\})*$"
)
_SEVERAL_NAMES = re.compile(
    r"(?<![A-Za-z\\])[a-zA-Z](?:(?:,| and | or )[a-zA-Z](?![a-zA-Z]))+"
    r"|,[a-zA-Z](?=\s?(?:\\(?:in|ge|le|ne)(?![a-zA-Z])|[<>]))"
)
r"""What a condition may list: `k,n`, and `,n>0` behind `n\in\mathbb{Z}`."""
_GOES_ON = re.compile(
    r"[,;]|(?<![a-zA-Z])(?:and|or|for|where|when|if|but|else|otherwise)(?![a-zA-Z])|\\forall"
    "|\u6216",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """Return the formula in our spelling; the same for spellings that TeX shows alike."""
    if not text.isascii():
        text = _to_ascii(text)
    text = text.replace(r"\$", r"\dollar ").replace(r"\%", "%").replace(r"\#", "#")
    text = _MARKUP.sub(" ", _THOUSANDS.sub(",", _COLOR.sub("", text)))
    text = _TEXT_FRACTION.sub(r"\\text{\1/\2}", _COMMAND.sub(_rename, text))
    text = _TEXT.sub(_plain_words, _ORDINAL.sub(r"\\text{th}", text))
    text = _SPACES.sub(" ", _DEGREES.sub(r"^\\circ ", text)).strip().replace(" ,", ", ")
    return _strip_frame(_LOOSE_SPACE.sub("", text))


def without_condition(text: str) -> str:
    """Cut a tail such as "for all n" or "where k is an integer" off a normalised formula.

    A tail that goes on with something else, as in "5 where x>0, 7 where x<0", is left.
    """
    match = _CONDITION.search(text, 1)
    if match is None or _GOES_ON.search(_SEVERAL_NAMES.sub("", text[match.end() :])):
        return text
    return text[: match.start()].rstrip(" ,;")


def without_zero_remainder(text: str) -> str:
    """Cut "with a remainder of 0" off a normalised quotient: it is whole without."""
    if "emainder" not in text and r"\text{R}" not in text:
        return text
    match = _NO_REMAINDER.search(text, 1)
    return text[: match.start()] if match else text


def words_of(text: str) -> str:
    r"""Return a normalised text as words alone: no `\text`, braces, brackets or case."""
    plain = text.replace(r"\text", "")
    return " ".join(re.sub(r"[{}()\[\]\\.,;:!?'\"*]+", " ", plain).casefold().split())


def _to_ascii(text: str) -> str:
    text = _RAISED_RUN.sub(lambda run: "^{" + "".join(map(_RAISED.get, run.group())) + "}", text)  # type: ignore[arg-type]
    text = _LOWERED_RUN.sub(lambda run: "_{" + "".join(map(_LOWERED.get, run.group())) + "}", text)  # type: ignore[arg-type]
    text = _VULGAR.sub(_vulgar_fraction, text)
    text = _ROOT.sub(_root, text)
    return unicodedata.normalize("NFKC", text.translate(_CHARACTERS))


def _vulgar_fraction(match: "re.Match[str]") -> str:
    top, _, bottom = unicodedata.normalize("NFKC", match.group()).partition("\u2044")
    return rf"\frac{{{top}}}{{{bottom}}}"


def _root(match: "re.Match[str]") -> str:
    radicand = f"{{{match[2]}}}" if match[2] else " "
    return rf"\sqrt{_ROOT_DEGREE[match[1]]}{radicand}"


def _rename(match: "re.Match[str]") -> str:
    new = _RENAMED.get(match[1])
    return match.group() if new is None else new


def _plain_words(match: "re.Match[str]") -> str:
    """Unwrap numbers, connectors and names of functions; tidy the rest."""
    content = match[1]
    if _PLAIN_TEXT.fullmatch(content):
        return content.strip()
    if _LISTED.fullmatch(content) or _SUM_OF_MONEY.fullmatch(content):
        return content.strip()
    if r"\circ" in content or not any(map(str.isalpha, content)):
        return content
    counted = _COUNTED.fullmatch(content)
    if counted:
        return rf"{counted[1]}\text{{{' '.join(counted[2].split())}}}"
    connector = _CONNECTOR.fullmatch(content)
    if connector:
        return f" {connector[1].lower()} "
    if _FUNCTION.fullmatch(content.strip()):
        return f"\\{content.strip()} "
    return rf"\text{{{' '.join(content.split())}}}"


def _strip_frame(text: str) -> str:
    """Strip what surrounds a formula: the sentence's marks, markdown, braces around all of it."""
    while True:
        stripped = text.strip(" `")
        if not stripped.endswith("..."):
            stripped = stripped.rstrip(".,;: ")
        if len(stripped) > 4 and stripped.startswith("**") and stripped.endswith("**"):
            stripped = stripped[2:-2]
        if stripped.endswith("\\"):
            stripped = stripped[:-1]
        if stripped.startswith("{") and _closing_brace(stripped) == len(stripped) - 1:
            stripped = stripped[1:-1]
        if stripped == text:
            return text
        text = stripped


def _closing_brace(text: str) -> int:
    """Return where the brace that opens the text closes; -1 if nowhere."""
    depth = 0
    for place, character in enumerate(text):
        if character in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return place
    return -1
