"""Finds the program in a response. Linear in its length, and runs nothing of it."""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rewards.answers import final_part

_TAGS = {"python": ("python",), "cpp": ("cc", "cxx"), "c": ("c",)}
"""Names of a language beside the patterns of `_language`."""
_FENCE = re.compile(r"(?P<indent>[ \t>]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_LATE_FENCE = re.compile(
    r"(?P<indent>)[^`]{1,200}(?P<fence>`{3,})(?P<info>[A-Za-z][\w+#.]{0,20}\s*)"
)
"""A fence with a language behind words, which CommonMark does not have and models write."""
_TAG = re.compile(r"[^\s:,;={}]+")
_READS_STDIN = re.compile(
    r"\binput\s*\(|\bstdin\b|\bopen\s*\(\s*0\b|\bfileinput\b|\bscanf\b|\bcin\b"
)
_MAX_BARE_CHARS = 200_000
"""Of a response without a fence that is taken for a program as a whole."""


@dataclass(frozen=True, slots=True)
class _Block:
    tag: str
    text: str


def program_of(
    response: str, *, language: str = "python", entry_point: str | None = None
) -> str | None:
    """Return the program that a response gives as its answer; None if it gives none.

    Read is what follows the last `</think>`. Of its fenced blocks in the language, or with no
    language named, the last counts that defines `entry_point` or, without one, that reads standard
    input; else the last in the language. A last fence may be left open. Without any fence a
    response that parses as Python is a program itself.
    """
    answer = final_part(response)
    if answer is None:
        return None
    blocks = list(_blocks(answer))
    named = [block for block in blocks if block.tag == language]
    unnamed = [block for block in blocks if not block.tag]
    for candidates in (named, unnamed):
        for block in reversed(candidates):
            if _does_the_task(block.text, entry_point):
                return block.text
    if last := (named or unnamed)[-1:]:
        return last[0].text
    if not blocks and language == "python" and _is_python(answer):
        return answer
    return None


def _blocks(text: str) -> Iterator[_Block]:
    """Cut out fenced blocks, also indented ones and those that begin behind words.

    A fence that names a language ends the block before it; one without an end goes to the end, or
    to the first line that has the fence somewhere.
    """
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.rstrip()
        fence = _FENCE.fullmatch(bare) or (None if opening else _LATE_FENCE.fullmatch(bare))
        if opening is None:
            if fence and ("`" not in fence["info"] or fence["fence"][0] == "~"):
                opening, lines = fence, []
        elif fence and fence["fence"].startswith(opening["fence"]) and not fence["info"].strip():
            yield _block(opening, lines)
            opening = None
        elif fence and fence["fence"] == opening["fence"] and _language(fence["info"]) in _TAGS:
            yield _block(opening, lines)
            opening, lines = fence, []
        else:
            lines.append(line)
    if opening is not None and lines:
        yield _block(opening, _up_to_fence(lines, opening["fence"]))


def _up_to_fence(lines: list[str], fence: str) -> list[str]:
    for place, line in enumerate(lines):
        if fence in line:
            return [*lines[:place], line.partition(fence)[0]]
    return lines


def _block(opening: re.Match[str], lines: list[str]) -> _Block:
    indent = opening["indent"]  # of a list's item, say, which is none of the program's
    program = "\n".join(line.removeprefix(indent) for line in lines) + "\n"
    if program.lstrip("\r\n")[:1] in (" ", "\t"):  # no program of ours begins so
        program = textwrap.dedent(program)
    return _Block(_language(opening["info"]), program)


def _language(info: str) -> str:
    """Return the language that a fence names, as the table has it; any other as it is."""
    tag = _TAG.search(info.strip().strip("{}. "))
    name = tag.group().lower() if tag else ""
    family = re.fullmatch(r"(?:i|micro|c)?py(?:thon|py)?[\d.]*|c\+\+\d*|cpp\d*", name)
    if family:
        return "python" if "py" in name else "cpp"
    return next((language for language, names in _TAGS.items() if name in names), name)


def _does_the_task(program: str, entry_point: str | None) -> bool:
    if entry_point is None:
        return bool(_READS_STDIN.search(program))
    first = re.escape(entry_point.split(".")[0].removesuffix("()"))
    pattern = rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{first}\b|^{first}[ \t]*="
    return bool(re.search(pattern, program, re.MULTILINE))


def _is_python(text: str) -> bool:
    """Whether a text is a program: it parses, and has more in it than names and numbers."""
    if len(text) > _MAX_BARE_CHARS:
        return False
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call)
        for statement in body
    )
