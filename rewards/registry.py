"""From a reward's name to the function that grades, and from what it returns to an Outcome."""

import asyncio
import difflib
import functools
import importlib
import inspect
import math
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from rewards.types import Outcome, ScoreRequest, error

BUILT_IN = {"math": "rewards.math_answer:grade"}
"""Name in a row -> grader."""
_ENTRY_POINT_GROUP = "mgpo.rewards"

Grader = Callable[..., Any]
"""(response, reference, **fields) -> bool | float | Outcome, sync or async."""


@functools.lru_cache
def resolve(name: str) -> Grader:
    """Return the grader of a built-in name, an entry point, or a dotted path.

    Raises ValueError that names what is known and the nearest name.
    """
    plugins = {point.name: point.value for point in entry_points(group=_ENTRY_POINT_GROUP)}
    target = BUILT_IN.get(name) or plugins.get(name) or name
    module_name, _, attribute = target.rpartition(":" if ":" in target else ".")
    if not module_name:
        known = sorted({*BUILT_IN, *plugins})
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"unknown reward {name!r}: known are {', '.join(known)}, entry points of the group "
            f"{_ENTRY_POINT_GROUP}, and dotted paths such as mypkg.grader.grade{hint}"
        )
    try:
        grader = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as problem:
        raise ValueError(f"reward {name!r} can't be imported from {target}: {problem}") from problem
    if not callable(grader):
        raise ValueError(f"reward {name!r}: {target} is not a function")
    return grader  # type: ignore[no-any-return]


def self_test_items(name: str) -> list[tuple[str, Any, bool]]:
    """Return the (response, reference, expected verdict) items that a grader brings along.

    They are the attribute SELF_TEST of the grader's module, or `self_test` of the function.
    """
    grader = resolve(name)
    module = inspect.getmodule(grader)
    return list(getattr(grader, "self_test", None) or getattr(module, "SELF_TEST", None) or [])


def call(grader: Grader, request: ScoreRequest, timeout_s: float) -> Any:
    """Run a grader to its end; an async one is cancelled after `timeout_s`, a sync one is not."""
    result = grader(request.response, request.reference, **request.fields)
    return asyncio.run(_await(result, timeout_s)) if inspect.isawaitable(result) else result


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

    NaN, infinity (in an Outcome's value too) and other types become errors.
    """
    if isinstance(result, Outcome):
        if not math.isfinite(result.value):
            return error("not_finite", returned=str(result.value))
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
