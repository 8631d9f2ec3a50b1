"""Programs against tests. Expected values stay in this process, which runs no program."""

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox import comparison, values
from sandbox.comparison import Tolerance
from sandbox.languages import COMPILED, PYTHON, TOOL_DIRS
from sandbox.packages import SCIENTIFIC
from sandbox.runner import Output, SandboxFault, Task, Zygote, run_alone, run_together
from sandbox.types import Judgement, Submission, Test, TestResult
from sandbox.verdicts import (
    TRUSTED,
    ending,
    is_spent,
    limits_of_tests,
    of_assertions,
    process_limits,
    wall_limit,
)

_MAX_RETRIES = 2
_TRUSTED_FRAME_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Program:
    """What a compiler made of a text: a file's bytes, or its complaint."""

    binary: bytes
    complaint: str


class Judge:
    """Judges one submission after the other, with zygotes of its own.

    A program's zygote and that of trusted code beside it are two, so they share nothing.
    """

    def __init__(self, settings: Mapping[str, Any], tier: str):
        """`settings` are ZygoteSettings' but the socket and the kind of zygote."""
        self._settings = settings
        self._tier = tier
        self._zygotes: dict[tuple[str, bool], Zygote] = {}
        self._num_retries = 0

    def judge(self, submission: Submission) -> Judgement:
        """Run the tests in order and return the verdict."""
        start = time.monotonic()
        self._num_retries = 0
        self._program: Program | None = None
        results: list[TestResult] = []
        for test in submission.tests:
            if submission.stop_on_fail and any(r.verdict != "AC" for r in results):
                results.append(TestResult(verdict="NOT_RUN"))
                continue
            if is_spent(submission.limits, results):
                results.append(
                    TestResult(verdict="TLE", detail="the program's total time is spent")
                )
                continue
            results.append(self._judge_test(submission, test))
        return Judgement(
            id=submission.id,
            verdict=next((v for r in results if (v := r.verdict) != "AC" and v != "NOT_RUN"), "AC"),
            tests=results,
            time_s=time.monotonic() - start,
            tier=self._tier,
            seed=submission.seed,
            versions={"python": platform.python_version()},
            num_retries=self._num_retries,
        )

    def close(self) -> None:
        """End the zygotes."""
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()

    def _judge_test(self, submission: Submission, test: Test) -> TestResult:
        """Judge one test; once more when it ended just over its time."""
        result = self._tried(lambda: self._attempt(submission, test))
        if result.verdict == "TLE" and result.exit_code is not None:  # it ended, in overtime
            self._num_retries += 1
            again = self._tried(lambda: self._attempt(submission, test))
            return result if again.verdict == "SE" else again
        return result

    def _tried(self, attempt: Callable[[], TestResult]) -> TestResult:
        """Make an attempt, and again after a fault of ours, which is no verdict on the program."""
        for _ in range(1 + _MAX_RETRIES):
            try:
                return attempt()
            except SandboxFault as error:
                fault = str(error)
            except (ValueError, TypeError, OSError, RecursionError) as error:
                fault = f"{type(error).__name__}: {error}"  # of the test's own values, say
            self.close()  # new zygotes for the next attempt
            self._num_retries += 1
        return TestResult(verdict="SE", detail=fault)

    def _compiled(self, submission: Submission) -> Program:
        """Compile a program. Raises SandboxFault."""
        language = COMPILED[submission.language]
        task = Task(
            role="compile",
            payload={
                "command": language.command(),
                "file_name": language.file_name,
                "source": submission.code,
            },
            limits=process_limits(TRUSTED, allows_programs=True, allows_processes=True),
            wall_s=wall_limit(TRUSTED),
            frame_bytes=_TRUSTED_FRAME_BYTES,
        )
        output = run_alone(self.zygote("compiler", is_scientific=False), task)
        ended = ending(output, TRUSTED)
        if ended.verdict != "AC":
            return Program(b"", ended.stderr_tail or f"the compiler ended with {ended.verdict}")
        return Program(output.frame, "")

    def _attempt(self, submission: Submission, test: Test) -> TestResult:
        if submission.kind == "stdin":
            return self._stdin_test(submission, test)
        if submission.kind == "assert":
            return self._assert_test(submission, test)
        return self._function_test(submission, test)

    def _stdin_test(self, submission: Submission, test: Test) -> TestResult:
        if self._program is None and submission.language != PYTHON:
            self._program = self._compiled(submission)
        if self._program and self._program.complaint:
            detail = "compile error"
            return TestResult(verdict="RE", detail=detail, stderr_tail=self._program.complaint)
        text = self._value(test.input, test.input_expr)
        task = _task(submission, "stdin")
        task.stdin = text.encode() if isinstance(text, str) else bytes(text or b"")
        if self._program:
            task.role, task.payload = "native", {}
            task.limits = process_limits(submission.limits, allows_programs=True)
            task.program = self._program.binary
        output = self.run(submission.code, task)
        result = ending(output, submission.limits)
        if result.verdict != "AC":
            return result
        expected = self._value(test.output, test.output_expr)
        if submission.checker_code is not None:
            got = output.stdout.decode(errors="replace")
            return self._checked(submission, result, text, {"output": got}, expected)
        want = expected.encode() if isinstance(expected, str) else bytes(expected or b"")
        tolerance = Tolerance.parse(submission.checker)
        is_right = comparison.same_tokens(output.stdout, want, tolerance)
        return result if is_right else replace(result, verdict="WA")

    def _function_test(self, submission: Submission, test: Test) -> TestResult:
        arguments = self._value(test.input, test.input_expr)
        task = _task(
            submission,
            "function",
            entry_point=submission.entry_point,
            arguments=list(arguments),
            argument_types=list(submission.argument_types),
            result_type=submission.result_type,
            result_argument=submission.result_argument,
        )
        expected = self._value(test.output, test.output_expr)
        has_checker = submission.checker_code is not None
        task.frame_bytes = values.MAX_FRAME_BYTES if has_checker else _frame_limit(expected)
        output = self.run(submission.code, task)
        result = ending(output, submission.limits)
        if result.verdict != "AC":
            return result
        if not output.frame:
            return replace(result, verdict="RE", detail="the process ended without a result")
        if submission.checker_code is not None:
            frame = {"output": None, "output_frame": output.frame}
            return self._checked(submission, result, arguments, frame, expected)
        return _compared(submission, result, output.frame, expected)

    def _assert_test(self, submission: Submission, test: Test) -> TestResult:
        limits = submission.limits
        program = _task(submission, "serve_program")
        trusted = limits_of_tests(limits)
        program.wall_s += wall_limit(trusted)  # it also waits for the tests
        tests = Task(
            role="run_test",
            payload={
                "test": test.source,
                "setup": submission.setup,
                "entry_point": submission.entry_point,
                # A program on a busy machine may wait for its core, which nobody subtracts here.
                "longest_wait_s": 3 * wall_limit(limits),
            },
            limits=process_limits(trusted),
            wall_s=wall_limit(trusted) + wall_limit(limits),
            frame_bytes=values.MAX_FRAME_BYTES,
        )
        text = submission.setup + (test.source or "")
        zygotes = (
            self.zygote("trusted", is_scientific=_is_scientific(text)),
            self.zygote("program", is_scientific=_is_scientific(submission.code)),
        )
        tests.descriptors, program.descriptors = _crossed_pipes()
        said, output = run_together(list(zip(zygotes, (tests, program), strict=True)))
        return of_assertions(submission, said, output)

    def _checked(
        self,
        submission: Submission,
        result: TestResult,
        given: Any,
        got: Mapping[str, Any],
        expected: Any,
    ) -> TestResult:
        """Ask the submission's own checker. Raises SandboxFault when it fails.

        On what was expected a sound checker has a verdict: if it fails on the answer only, that was
        too much for it, and is wrong.
        """
        payload = {"code": submission.checker_code, "input_": given, "expected": expected}
        try:
            said = self._ask("check", {**payload, **got})
        except SandboxFault as error:
            if expected is None:
                raise
            said = str(error)
        if isinstance(said, str) and expected is not None:
            sound = self._ask("check", {**payload, "output": expected})
            if isinstance(sound, str):
                raise SandboxFault(f"the checker fails on the expected output: {sound}")
        if not isinstance(said, bool | str):
            raise SandboxFault(f"the checker returned {said!r:.80}, neither True nor False")
        if said is True:
            return result
        detail = f"the checker failed on it: {said}" if said else "refused by the checker"
        return replace(result, verdict="WA", detail=detail)

    def _value(self, value: Any, expression: str | None) -> Any:
        if expression is None:
            return value
        return self._ask("evaluate", {"expression": expression})

    def _ask(self, role: str, payload: Mapping[str, Any]) -> Any:
        """Run trusted code in a child of its own and return its answer. Raises SandboxFault."""
        task = Task(
            role=role,
            payload=payload,
            limits=process_limits(TRUSTED),
            wall_s=wall_limit(TRUSTED),
            frame_bytes=_TRUSTED_FRAME_BYTES,
        )
        text = str(payload.get("code") or payload.get("expression"))
        output = run_alone(self.zygote("trusted", is_scientific=_is_scientific(text)), task)
        ended = ending(output, TRUSTED)
        if ended.verdict != "AC":
            raise SandboxFault(f"{role} ended with {ended.verdict}: {ended.stderr_tail[-500:]}")
        return values.decode(output.frame, values.LIVE)

    def run(self, code: str, task: Task) -> Output:
        """Run a task in the zygote that suits the program. Raises SandboxFault."""
        return run_alone(self.zygote("program", is_scientific=_is_scientific(code)), task)

    def zygote(self, side: str, *, is_scientific: bool) -> Zygote:
        """Return a live zygote of that kind. Raises SandboxFault."""
        key = (side, is_scientific)
        zygote = self._zygotes.get(key)
        if zygote and zygote.is_worn:
            self._zygotes.pop(key).close()
            zygote = None
        if zygote is None:
            settings = {**self._settings, "is_scientific": is_scientific}
            if side == "compiler":
                settings["library_dirs"] = [*settings["library_dirs"], *TOOL_DIRS]
            zygote = Zygote(settings)
            self._zygotes[key] = zygote
        return zygote


def _task(submission: Submission, role: str, **payload: Any) -> Task:
    """Make the task that runs a submission's program under its limits."""
    return Task(
        role=role,
        payload={"code": submission.code, "seed": submission.seed, **payload},
        limits=process_limits(submission.limits),
        wall_s=wall_limit(submission.limits),
        output_bytes=int(submission.limits.output_mb * 2**20),
    )


def _frame_limit(expected: Any) -> int:
    """Bytes for an answer: one far longer than the right one is wrong, and costs us to read."""
    try:
        return min(values.MAX_FRAME_BYTES, 2**20 + 16 * len(values.encode(expected)))
    except RecursionError:
        return values.MAX_FRAME_BYTES


def _crossed_pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    """Make what two processes need to talk: for each, where it reads and where it writes."""
    one_reads, other_writes = os.pipe2(os.O_CLOEXEC)
    try:
        other_reads, one_writes = os.pipe2(os.O_CLOEXEC)
    except OSError:
        os.close(one_reads)
        os.close(other_writes)
        raise
    return (one_reads, one_writes), (other_reads, other_writes)


def _is_scientific(text: str) -> bool:
    """Whether a text names one of the larger packages; parsing it is left to the child."""
    return any(name in text for name in SCIENTIFIC)


def _compared(
    submission: Submission, result: TestResult, frame: bytes, expected: Any
) -> TestResult:
    """Compare a result, hostile as it may be, with the expected value."""
    head = frame[:200].decode(errors="replace")
    try:
        got = values.decode(frame)
        is_right = comparison.same_value(got, expected, Tolerance.parse(submission.checker))
    except values.BadFrame as error:
        return replace(result, verdict="RE", detail=f"bad frame: {error}")
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        return replace(result, verdict="WA", detail=f"cannot be compared: {error}: {head}"[:300])
    return result if is_right else replace(result, verdict="WA", detail=head)
