"""Languages beside Python: how each is compiled, if its compiler is on this machine."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Language:
    """A compiled language. The command runs in the box and leaves the file `program` there."""

    file_name: str
    compilers: Sequence[str]
    """Tried in this order."""
    arguments: Sequence[str]

    def command(self) -> list[str]:
        """Return the whole command. Raises ValueError when no compiler is installed."""
        for name in self.compilers:
            if path := shutil.which(name, path=TOOL_PATH):
                return [path, *self.arguments, "-o", "program", self.file_name, "-lm"]
        raise ValueError(f"none of {', '.join(self.compilers)} is installed in {TOOL_PATH}")


TOOL_PATH = "/usr/bin:/bin:/usr/local/bin"
TOOL_DIRS = (
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/usr/include",
    "/usr/local/include",
    "/usr/libexec",
    "/usr/local/lib",
)
"""What a compiler needs to read, beside the libraries."""
COMPILED: Mapping[str, Language] = {
    "cpp": Language("main.cpp", ("g++", "clang++"), ("-O2", "-std=gnu++17", "-pipe")),
    "c": Language("main.c", ("gcc", "clang"), ("-O2", "-std=gnu11", "-pipe")),
}
"""The table to extend for another language."""


def check(language: str, tier: str) -> None:
    """Raise ValueError, with the reason, for a language that cannot be judged here."""
    if language == PYTHON:
        return
    if language not in COMPILED:
        raise ValueError(f"language {language!r}: give one of {', '.join((PYTHON, *COMPILED))}")
    if tier != "A":
        raise ValueError(
            f"language {language!r} is compiled in a private directory, which only "
            f"tier A has; this sandbox is tier {tier}"
        )
    try:
        COMPILED[language].command()
    except ValueError as error:
        raise ValueError(f"language {language!r}: {error}") from None
