"""From a reward's name to the function that grades, and from what it returns to an Outcome."""

import asyncio
import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import logging
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from rewards.adapters import from_trl, from_trl_chat, from_verl
from rewards.types import Outcome, ScoreRequest, error

logger = logging.getLogger(__name__)

WEIGHTED = "weighted"
"""The reward that adds others up."""
BUILT_IN = {
    "code": "rewards.code_tests:grade",
    "constraints": "rewards.constraints.reward:grade",
    "math": "rewards.math_answer:grade",
    "math_judge": "rewards.equivalence_judge:grade",
    "rubric": "rewards.rubric:grade",
    "stem": "rewards.choice_answer:grade",
    WEIGHTED: "rewards.weighted:split",
}
"""Name in a row -> grader; of a weighted sum, what takes it apart."""
ADAPTERS = {"trl": from_trl, "trl_chat": from_trl_chat, "verl": from_verl}
"""Before a colon: the function after it was written for that project."""
_CHEAP = {"math": "rewards.math_answer:decide_cheaply"}
"""Built-in rewards that can often tell at once, in bounded time, in a process that must not die."""
_OF_EVERY_ROW = ("problem", "completion_ids")
"""Fields that a grader need not take."""
_ENTRY_POINT_GROUP = "mgpo.rewards"

Grader = Callable[..., Any]
"""(response, reference, **fields) -> bool | float | Outcome, sync or async."""


@functools.lru_cache
def resolve(name: str) -> Grader:
    """Return the grader of a built-in name, an entry point, or a dotted path.

    `trl:`, `trl_chat:` and `verl:` before a dotted path, or before path/to/file.py:function, adapt
    a function of those projects. Raises ValueError that names what is known and the nearest name.
    """
    project, _, path = name.partition(":")
    if path and project in ADAPTERS:
        try:
            return ADAPTERS[project](resolve(path))
        except ValueError as problem:
            raise ValueError(f"reward {name!r}: {problem}") from problem
    plugins = {point.name: point.value for point in entry_points(group=_ENTRY_POINT_GROUP)}
    target = BUILT_IN.get(name) or plugins.get(name) or name
    module_name, _, attribute = target.rpartition(":" if ":" in target else ".")
    if not module_name:
        known = sorted({*BUILT_IN, *plugins})
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"unknown reward {name!r}: known are {', '.join(known)}, entry points of the group "
            f"{_ENTRY_POINT_GROUP}, dotted paths such as mypkg.grader.grade, and "
            f"{', '.join(f'{project}:PATH' for project in ADAPTERS)}{hint}"
        )
    try:
        grader = getattr(_import(module_name), attribute)
    except (ImportError, AttributeError) as problem:
        raise ValueError(f"reward {name!r} can't be imported from {target}: {problem}") from problem
    if not callable(grader):
        raise ValueError(f"reward {name!r}: {target} is not a function")
    return grader  # type: ignore[no-any-return]


@functools.lru_cache
def takes_token_ids(name: str) -> bool:
    """Whether a function written for TRL asks for `completion_ids`. Raises ValueError."""
    project, _, path = name.partition(":")
    if project not in ("trl", "trl_chat"):
        return False
    return "completion_ids" in inspect.signature(resolve(path)).parameters


def check_reference(name: str, reference: Any, fields: Mapping[str, Any]) -> None:
    """See that a grader can use a row, if its module brings `check_reference(reference, **fields)`.

    Raises ValueError.
    """
    check = getattr(inspect.getmodule(resolve(name)), "check_reference", None)
    if check is not None:
        check(reference, **fields)


def _import(name: str) -> ModuleType:
    """Import a module by its dotted name, or from a file whose path ends with .py."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    file = Path(name).resolve()
    known_as = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    if known_as in sys.modules:
        return sys.modules[known_as]
    spec = importlib.util.spec_from_file_location(known_as, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ImportError(f"there is no file {file}")
    module = sys.modules[known_as] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[known_as]
        raise
    return module


def warm_up(name: str) -> None:
    """Import a reward and let its module load what it needs. Raises whatever that raises."""
    warm = getattr(sys.modules[resolve(name).__module__], "warm_up", None)
    if warm is not None:
        warm()


def decide_cheaply(request: ScoreRequest) -> Outcome | None:
    """Return a verdict that needs no process of its own; None where one is needed."""
    if request.reward not in _CHEAP:
        return None
    module_name, _, attribute = _CHEAP[request.reward].partition(":")
    decide = getattr(importlib.import_module(module_name), attribute)
    started = time.perf_counter()
    try:
        outcome: Outcome | None = decide(request.response, request.reference, **request.fields)
    except Exception:  # on untrusted text: a process that can be killed decides
        logger.exception("reward %s failed to decide cheaply", request.reward)
        return None
    return outcome and replace(outcome, time_s=time.perf_counter() - started)


def self_test_items(name: str) -> list[tuple[str, Any, bool]]:
    """Return the (response, reference, expected verdict) items that a grader brings along.

    They are the attribute SELF_TEST of the grader's module, or `self_test` of the function.
    """
    grader = resolve(name)
    module = inspect.getmodule(grader)
    return list(getattr(grader, "self_test", None) or getattr(module, "SELF_TEST", None) or [])


def call(grader: Grader, request: ScoreRequest, timeout_s: float) -> Any:
    """Run a grader to its end; an async one is cancelled after `timeout_s`, a sync one is not."""
    fields = dict(request.fields)
    for name in _OF_EVERY_ROW:
        if name in fields and not _takes(grader, name):
            del fields[name]
    result = grader(request.response, request.reference, **fields)
    return asyncio.run(_await(result, timeout_s)) if inspect.isawaitable(result) else result


def _takes(grader: Grader, name: str) -> bool:
    """Whether a grader can be given a field of that name."""
    try:
        parameters = inspect.signature(grader).parameters
    except (TypeError, ValueError):  # of no Python function
        return True
    return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


async def _await(awaitable: Any, timeout_s: float) -> Any:
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            return await awaitable
    except TimeoutError:
        if not limit.expired():  # the grader's own, e.g. of a request it made
            raise
        return error("timeout", waited_s=timeout_s)


def to_outcome(result: Any, correct_threshold: float) -> Outcome:
    """Turn what a grader returned into an Outcome: bool is binary, a number is graded.

    A graded value is correct from `correct_threshold` on, whoever made the Outcome. NaN, infinity
    (in an Outcome's value too) and other types become errors.
    """
    if isinstance(result, Outcome):
        if not math.isfinite(result.value):
            return error("not_finite", returned=str(result.value))
        if result.is_valid and result.is_graded:
            return replace(result, correct=result.value >= correct_threshold)
        return result
    if isinstance(result, bool):
        return Outcome(status="ok", correct=result, value=float(result))
    if isinstance(result, int | float):
        if not math.isfinite(result):
            return error("not_finite", returned=str(result))
        return Outcome(
            status="ok",
            correct=result >= correct_threshold,
            value=float(result),
            is_graded=True,
        )
    return error(
        "wrong_type", returned=type(result).__name__, allowed="bool, float or rewards.types.Outcome"
    )
