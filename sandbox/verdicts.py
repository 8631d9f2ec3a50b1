"""From how a run ended to its verdict, in a fixed order: SE, OLE, TLE, MLE, RE, then the answer."""

import os
from collections.abc import Sequence
from dataclasses import replace

from sandbox import values
from sandbox.isolation.confinement import ProcessLimits
from sandbox.programs import OUT_OF_MEMORY
from sandbox.runner import Output, SandboxFault
from sandbox.types import Limits, Submission, TestResult

TRUSTED = Limits(time_s=60.0, memory_mb=2048)
"""Limits of what is not the program's: tests, checkers, expressions, compilers."""
_LEAST_TEST_TIME_S, _TEST_TIMES = 30.0, 5.0
_OVERTIME = 1.2  # a run may take that much of its CPU time before it is ended
_TOTAL_WALL = 4  # times the total time, waiting for a core included
HEAD = 1000
"""Characters that are kept of an output."""


def limits_of_tests(limits: Limits) -> Limits:
    """Limits of the tests' side: a program's answers can make it work, so it has an end, too."""
    return replace(
        TRUSTED,
        time_s=max(_LEAST_TEST_TIME_S, _TEST_TIMES * limits.time_s),
        memory_mb=max(TRUSTED.memory_mb, limits.memory_mb),
    )


def process_limits(
    limits: Limits, *, allows_programs: bool = False, allows_processes: bool = False
) -> ProcessLimits:
    """Limits as a child enforces them; its CPU time with the overtime."""
    return ProcessLimits(
        cpu_s=_OVERTIME * limits.time_s,
        memory_mib=limits.memory_mb,
        file_mib=limits.file_mb,
        num_threads=limits.num_threads,
        num_open_files=limits.num_open_files,
        allows_processes=allows_processes,
        allows_programs=allows_programs,
    )


def wall_limit(limits: Limits) -> float:
    """Seconds on the wall clock that a run may take, waiting for a core not counted."""
    return max(2 * limits.time_s, limits.time_s + 1) * _OVERTIME


def is_spent(limits: Limits, results: Sequence[TestResult]) -> bool:
    """Whether a program has used up its total time, on the processor or by sleeping."""
    if limits.total_time_s is None:
        return False
    cpu_s = sum(result.time_s for result in results)
    wall_s = sum(result.wall_s for result in results)
    return cpu_s >= limits.total_time_s or wall_s >= _TOTAL_WALL * limits.total_time_s


def ending(output: Output, limits: Limits) -> TestResult:
    """Judge how a process ended, before any comparison: SE, OLE, TLE, MLE, RE, else AC.

    Raises SandboxFault when nothing of the program ran, or no core was free to run it.
    """
    ended = output.ended
    if not ended.is_confined:
        raise SandboxFault(f"the child was not confined: {output.stderr.decode(errors='replace')}")
    if ended.reason == "starved":
        raise SandboxFault(f"no core to run on for most of {ended.wall_s:.0f} s")
    code = os.waitstatus_to_exitcode(ended.status)
    memory_mb = ended.peak_kib / 1024
    result = TestResult(
        verdict="AC",
        time_s=ended.cpu_s,
        wall_s=ended.wall_s,
        memory_mb=memory_mb,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout_head=output.stdout[:HEAD].decode(errors="replace"),
        stderr_tail=output.stderr[-HEAD:].decode(errors="replace"),
    )
    if output.has_overflow:
        return replace(result, verdict="OLE")
    if ended.reason in ("cpu", "wall") or ended.cpu_s > limits.time_s:
        return replace(result, verdict="TLE", detail=f"by {ended.reason} time")
    if code == OUT_OF_MEMORY or memory_mb > limits.memory_mb:
        return replace(result, verdict="MLE")
    if code == 0:
        return result
    detail = f"status {code}" if code > 0 else f"signal {-code}"
    return replace(result, verdict="RE", detail=detail)


def of_assertions(submission: Submission, said: Output, output: Output) -> TestResult:
    """Join what the tests' side said and how the program ended. Raises SandboxFault."""
    tests = ending(said, limits_of_tests(submission.limits))
    if output.ended.reason == "told" and not output.has_overflow:  # the tests had ended
        output = replace(output, ended=replace(output.ended, status=0))
    result = ending(output, submission.limits)
    if result.verdict != "AC":
        return result
    if tests.verdict != "AC" or not said.frame:
        detail = f"the tests' side ended with {tests.verdict} on what the program answered"
        return replace(result, verdict="RE", detail=detail)
    try:
        verdict, detail = values.decode(said.frame)
    except (ValueError, TypeError) as error:
        return replace(result, verdict="RE", detail=f"the tests' side was disturbed: {error}")
    if verdict not in ("AC", "WA", "TLE", "RE", "SE", "GONE") or type(detail) is not str:
        return replace(result, verdict="RE", detail="the tests' side was disturbed")
    if verdict == "SE":
        raise SandboxFault(detail)
    if verdict == "GONE":
        return replace(result, verdict="RE", detail="the program ended before its tests did")
    return replace(result, verdict=verdict, detail=detail)
