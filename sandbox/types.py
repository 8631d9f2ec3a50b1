"""What is judged and what comes out. Standard library only; everything goes to JSON and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, get_args

from sandbox.comparison import Tolerance

Kind = Literal["stdin", "function", "assert"]
Verdict = Literal["AC", "WA", "TLE", "MLE", "OLE", "RE", "SE"]
"""Accepted, wrong answer, time, memory or output limit exceeded, runtime error, and `SE`, the
sandbox's own fault, which says nothing about the program."""

_LARGEST = 1e9
_WHOLE = ("memory_mb", "file_mb", "num_threads", "num_open_files")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of one test; `total_time_s` is the program's."""

    time_s: float = 2.0
    """CPU seconds. The wall clock may show twice that, or a second more."""
    memory_mb: int = 512
    output_mb: float = 64.0
    file_mb: int = 16
    num_threads: int = 64
    num_open_files: int = 64
    total_time_s: float | None = None
    """CPU seconds of all tests together, and four times that on the clock; then the rest is TLE."""

    def __post_init__(self) -> None:
        """Raises ValueError for a limit that is not positive, or a count that is not whole."""
        for name, value in asdict(self).items():
            if value is None and name == "total_time_s":
                continue
            if type(value) not in (int, float):
                raise ValueError(f"{name} must be a number, got {value!r}")
            if not 0 < value < _LARGEST:
                raise ValueError(f"{name} must be positive and below {_LARGEST:g}, got {value!r}")
            if name in _WHOLE and value != int(value):
                raise ValueError(f"{name} must be a whole number, got {value!r}")
            if name in _WHOLE:
                object.__setattr__(self, name, int(value))


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """One test. What is read depends on the kind of the submission."""

    __test__: ClassVar[bool] = False  # to pytest

    input: Any = None
    """`stdin`: the text. `function`: the list of arguments."""
    output: Any = None
    """The expected output or result."""
    input_expr: str | None = None
    """A trusted Python expression for a large `input`, evaluated in a child of its own."""
    output_expr: str | None = None
    source: str | None = None
    """`assert`: the test's text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A program and the tests it must pass."""

    code: str
    tests: Sequence[Test]
    kind: Kind = "stdin"
    id: str = ""
    language: str = "python"
    entry_point: str | None = None
    """`function`: a function's name, or `Solution.method`."""
    checker: str = "tokens"
    """`tokens`, exact; or `float:TOL`."""
    checker_code: str | None = None
    """Text that defines `check(input, output, expected) -> bool`, run in a child of its own."""
    setup: str = ""
    """`assert`: text run before each test, on the tests' side."""
    argument_types: Sequence[str | None] = ()
    """`function`: `ListNode`, `TreeNode` or `ListNode[]` where an argument is such a thing."""
    result_type: str | None = None
    result_argument: int | None = None
    """`function`: the argument that holds the result, for functions that work in place."""
    limits: Limits = field(default_factory=Limits)
    stop_on_fail: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError for what no verdict could be given on."""
        for name in _TEXTS:
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name in _MAY_BE_NONE)):
                raise ValueError(f"{name} is a text, got {value!r:.80}")
        if type(self.seed) is not int:
            raise ValueError(f"seed is an integer, got {self.seed!r:.80}")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind {self.kind!r}: give one of {', '.join(get_args(Kind))}")
        if not self.tests:
            raise ValueError("tests is empty: give at least one")
        if self.kind == "function" and not self.entry_point:
            raise ValueError("kind function needs entry_point, the name of the function to call")
        if self.kind != "stdin" and self.language != "python":
            raise ValueError(f"kind {self.kind} is for python; {self.language} has stdin only")
        Tolerance.parse(self.checker)
        for number, test in enumerate(self.tests):
            if fault := _fault_of(test, self.kind):
                raise ValueError(f"test {number}: {fault}")

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Submission":
        """Read a JSON row, in which the limits lie flat. Raises ValueError."""
        if not isinstance(row, Mapping):
            raise ValueError(f"a row is an object, got {type(row).__name__}")
        known = (*_FIELDS, *_LIMITS)
        for name in row.keys() - {*known, *_NOTES}:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f": give one of {', '.join(known)}"
            raise ValueError(f"unknown field {name}{hint}")
        if not isinstance(row.get("code"), str) or not isinstance(row.get("tests"), list):
            raise ValueError("a row needs code (text) and tests (a list)")
        values = {name: row[name] for name in _FIELDS if name in row}
        limits = {name: row[key] for key, name in _LIMITS.items() if key in row}
        values["tests"] = [_test_of(number, test) for number, test in enumerate(row["tests"])]
        try:
            return cls(**values, limits=Limits(**limits))
        except ValueError as error:
            name, _, rest = str(error).partition(" ")
            key = next((key for key, own in _LIMITS.items() if own == name), name)
            raise ValueError(f"{key} {rest}") from None

    def to_row(self) -> dict[str, Any]:
        """Write what `from_row` reads."""
        row = {name: getattr(self, name) for name in _FIELDS}
        row["tests"] = [
            test.source if test.source is not None else asdict(test) for test in self.tests
        ]
        return row | {key: getattr(self.limits, name) for key, name in _LIMITS.items()}


_MAY_BE_NONE = ("entry_point", "checker_code", "result_type")
_TEXTS = ("code", "kind", "id", "language", "checker", "setup", *_MAY_BE_NONE)
_FIELDS = tuple(f.name for f in fields(Submission) if f.name != "limits")
_LIMITS = {
    "time_limit_s": "time_s",
    "memory_limit_mb": "memory_mb",
    "output_limit_mb": "output_mb",
    "file_limit_mb": "file_mb",
    "thread_limit": "num_threads",
    "open_file_limit": "num_open_files",
    "total_time_limit_s": "total_time_s",
}


# Fields that cases carry for people and for other checks of them.
_NOTES = (
    *("expected_verdict", "also_ok", "per_test_verdicts", "post_check", "requires"),
    *("why", "source"),
)


def _test_of(number: int, value: Any) -> Test:
    if isinstance(value, str):
        return Test(source=value)
    if not isinstance(value, Mapping):
        raise ValueError(f"test {number}: a text or an object, got {type(value).__name__}")
    known = [each.name for each in fields(Test)]
    for name in value.keys() - {*known}:
        raise ValueError(f"test {number}: unknown field {name}: give one of {', '.join(known)}")
    return Test(**value)


def _fault_of(test: Test, kind: Kind) -> str:
    """Say what is wrong with a test of that kind, if anything is."""
    if (test.source is not None) != (kind == "assert"):
        return "kind assert has texts, the others input and output"
    if kind == "function" and test.input_expr is None and not isinstance(test.input, list | tuple):
        return f"input is the list of arguments, got {test.input!r:.80}"
    if kind == "stdin":
        for name, value in (("input", test.input), ("output", test.output)):
            if value is not None and not isinstance(value, str | bytes):
                return f"{name} of kind stdin is a text, got {value!r:.80}"
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestResult:
    """How one test went."""

    verdict: Verdict | Literal["NOT_RUN"]
    time_s: float = 0.0
    """CPU seconds."""
    wall_s: float = 0.0
    memory_mb: float = 0.0
    """Peak above the bare interpreter."""
    exit_code: int | None = None
    signal: int | None = None
    stdout_head: str = ""
    stderr_tail: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The verdict on a program: the first in test order that is not AC."""

    id: str
    verdict: Verdict
    tests: Sequence[TestResult]
    time_s: float
    tier: str
    seed: int
    versions: Mapping[str, str] = field(default_factory=dict)
    num_retries: int = 0

    def to_row(self) -> dict[str, Any]:
        """Write as JSON-serialisable values."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Judgement":
        """Read what `to_row` wrote."""
        return cls(**{**row, "tests": [TestResult(**test) for test in row["tests"]]})
