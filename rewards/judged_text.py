"""Text of the policy as a judge may see it: data between markers, which it cannot forge.

The policy is trained on the judge's verdicts, so it will find whatever makes the judge say yes.
"""

import hashlib
import re
from dataclasses import dataclass

_QUOTE_CHARS = re.compile(r"\w", re.UNICODE)
_ELLIPSIS = re.compile(r"\.\.\.+|\u2026")
_TEMPLATE_TOKEN = re.compile(
    r"<(?=[|\uff5c]|/?s>|/?think>|/?(?:start|end)_of_\w+>|(?:eos|bos|pad)>|<SYS>>|</SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
"""What chat templates are made of. Servers read it in a message's text as the token itself, so a
response could end the judge's prompt and begin its answer."""


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text made safe to show, and the marker that fences it."""

    shown: str
    """At most the limit, plus a note where something was left out."""
    marker: str
    num_cut_chars: int

    def fenced(self, name: str) -> str:
        """Return the text between two lines that carry the marker."""
        return f"[{self.marker} {name} begins]\n{self.shown}\n[{self.marker} {name} ends]"


def judged_text(text: str, *, max_chars: int, seed: str) -> JudgedText:
    """Cut the middle of a long text, break up tokens of chat templates, and choose a marker.

    The marker does not occur in the text, depends on all of it and on the seed, so that a writer
    cannot foresee it, and is the same each time, so that a judgement can be repeated.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    marker = _marker(text, seed)
    num_cut = max(0, len(text) - max_chars)
    if num_cut:
        head = max_chars // 2
        note = f"[{marker} {num_cut} characters left out here]"
        tail = text[len(text) - (max_chars - head) :]
        text = f"{text[:head]}\n{note}\n{tail}"
    return JudgedText(_TEMPLATE_TOKEN.sub(r"\g<0> ", text), marker, num_cut)


def _marker(text: str, seed: str) -> str:
    digest = hashlib.sha256(f"{seed}\0{text}".encode())
    while (marker := digest.hexdigest()[:16]) in text:
        digest.update(b"again")
    return marker


def is_quoted_from(quote: str, text: str) -> bool:
    """Whether a quote occurs in a text, spaces, punctuation, case and left-out middles aside.

    A quote without a letter or digit must occur as it is, and an empty one never does.
    """
    parts = [_plain(part) for part in _ELLIPSIS.split(quote)]
    if not any(parts):
        return bool(quote.strip()) and quote.strip() in text
    plain, start = _plain(text), 0
    for part in parts:
        found = plain.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True


def _plain(text: str) -> str:
    return "".join(_QUOTE_CHARS.findall(text)).casefold()
