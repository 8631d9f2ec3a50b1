"""Reward functions written for TRL and verl, as graders; they run unchanged.

Both projects call a function by keywords of their own, TRL with a whole batch. Here each call is a
batch of one, and a function gets those keywords that its signature names, or all if it ends in
`**kwargs`. What TRL's trainer alone can give (`trainer_state`, `log_extra`, `log_metric`) is not
there.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewards.types import Outcome, error

_Function = Callable[..., Any]
_NUMBER = "a number or a bool"
_OF_BATCH = {
    "prompts": "a row has them as its prompt, or as the field `problem`",
    "completion_ids": "training gives them; elsewhere the row must have that column",
    "trainer_state": "only TRL's trainer has it",
    "log_extra": "only TRL's trainer has it; give it a default",
    "log_metric": "only TRL's trainer has it; give it a default",
}
"""What TRL gives beside the completions and the columns of the data set -> where it is from."""
_BOOL_TYPES = ("bool", "torch.bool")


@dataclass(frozen=True, slots=True)
class _Keywords:
    """What a function can be given by keyword."""

    names: frozenset[str]
    required: frozenset[str]
    takes_all: bool

    @classmethod
    def of(cls, function: _Function) -> "_Keywords":
        """Read a signature. Raises ValueError for one that cannot be called by keywords."""
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError) as problem:
            raise ValueError(f"the signature of {function!r} can't be read: {problem}") from problem
        named = [
            each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        ]
        for each in named:
            if each.kind is each.POSITIONAL_ONLY and each.default is each.empty:
                raise ValueError(
                    f"{_name_of(function)} takes {each.name} by position only; it is called with "
                    "keywords"
                )
        named = [each for each in named if each.kind is not each.POSITIONAL_ONLY]
        return cls(
            names=frozenset(each.name for each in named),
            required=frozenset(each.name for each in named if each.default is each.empty),
            takes_all=any(each.kind is each.VAR_KEYWORD for each in parameters),
        )

    def take(self, name: str) -> bool:
        """Whether it can be given that keyword."""
        return self.takes_all or name in self.names

    def pick(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what it takes of what there is."""
        return {name: value for name, value in given.items() if self.take(name)}


def from_trl(function: _Function) -> _Function:
    """Adapt `f(prompts, completions, completion_ids, **columns) -> list[float | None]` for data
    whose prompts and completions are strings. Raises ValueError."""
    return _trl(function, lambda role, text: text)


def from_trl_chat(function: _Function) -> _Function:
    """Adapt a TRL function for conversational data: a prompt or completion is a list with one
    message. Raises ValueError."""
    return _trl(function, lambda role, text: [{"role": role, "content": text}])


def _trl(function: _Function, as_text: Callable[[str, str], Any]) -> _Function:
    keywords = _Keywords.of(function)
    if not (keywords.take("completions") or keywords.take("completion_ids")):
        raise ValueError(
            f"{_name_of(function)} takes {_listed(keywords)}, but a reward function of TRL takes "
            "completions (or **kwargs)"
        )

    def grade(response: str, reference: Any, **fields: Any) -> Any:
        batch = {"completions": as_text("assistant", response)}
        if "problem" in fields:
            batch["prompts"] = as_text("user", fields["problem"])
        columns = _columns(keywords, reference, fields, batch)
        arguments = {name: [value] for name, value in columns.items()}
        return _finish(function(**keywords.pick(arguments)), _trl_result)

    return _named_as(function, grade)


def _columns(
    keywords: _Keywords, reference: Any, fields: Mapping[str, Any], batch: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row as TRL would hand it over, under the column names that the function knows.

    A reference that is a mapping holds columns. Any other is the column `reference`, and stands
    for the only argument that the function cannot do without and the row does not have. Raises
    ValueError for what is nowhere.
    """
    is_columns = isinstance(reference, Mapping)
    columns = {**fields, **(reference if is_columns else {}), **batch}
    missing = sorted(keywords.required - columns.keys())
    for name in _OF_BATCH.keys() & missing:
        raise ValueError(f"the function needs {name}: {_OF_BATCH[name]}")
    if is_columns and not missing:
        return columns
    if is_columns or len(missing) > 1:
        where = "to the row or its reference"
        if not is_columns:
            where = (
                "all but one to the row (the reference is the last), or make the reference a "
                "mapping of them"
            )
        raise ValueError(f"the function needs {' and '.join(missing)}: add {where}")
    return {**columns, missing[0] if missing else "reference": reference}


def _trl_result(returned: Any) -> Any:
    """Return the one reward. None is TRL's word for a row that the function has no opinion on."""
    allowed = "a list with one reward, a number or None, for one completion"
    if isinstance(returned, str | bytes | Mapping):
        return _wrong("wrong_type", returned, allowed)
    try:
        rewards = list(returned)
    except TypeError:
        return _wrong("wrong_type", returned, allowed)
    if len(rewards) != 1:
        return _wrong("wrong_length", returned, allowed)
    return error("skipped") if rewards[0] is None else _number(rewards[0], allowed)


def from_verl(function: _Function) -> _Function:
    """Adapt `compute_score(data_source, solution_str, ground_truth, extra_info=None, ...)`, which
    returns a number, a bool or a mapping with `score`, and perhaps `acc`, the verdict.

    Further parameters are read from the row's fields. Raises ValueError.
    """
    keywords = _Keywords.of(function)
    if not keywords.take("solution_str"):
        raise ValueError(
            f"{_name_of(function)} takes {_listed(keywords)}, but a reward function of verl takes "
            "solution_str (or **kwargs)"
        )

    def grade(response: str, reference: Any, **fields: Any) -> Any:
        given = {
            "data_source": "",
            "extra_info": None,
            **fields,
            "solution_str": response,
            "ground_truth": reference,
        }
        if "problem" not in keywords.names:
            given.pop("problem", None)  # of ours: verl gives no such thing
        if missing := sorted(keywords.required - given.keys()):
            raise ValueError(
                f"the function needs {' and '.join(missing)}: add it to the row, or to "
                "reward.options for all rows"
            )
        return _finish(function(**keywords.pick(given)), _verl_result)

    return _named_as(function, grade)


def _verl_result(returned: Any) -> Any:
    allowed = f"{_NUMBER}, or a mapping whose `score` is one"
    if not isinstance(returned, Mapping):
        return _number(returned, allowed)
    if "score" not in returned:
        return _wrong("no_score", dict(returned), allowed)
    score, verdict = _number(returned["score"], allowed), returned.get("acc")
    if isinstance(score, Outcome):
        return score
    detail = {str(key): value for key, value in returned.items() if key != "score"}
    if isinstance(score, bool):
        verdict = score
    is_verdict = isinstance(verdict, bool | int | float) and verdict in (0, 1)
    if is_verdict:
        detail.pop("acc", None)
    return Outcome(
        status="ok",
        correct=bool(verdict) if is_verdict else False,
        value=float(score),
        detail=detail,
        is_graded=not is_verdict,
    )


def _number(reward: Any, allowed: str) -> bool | float | Outcome:
    """Return a bool or number, numpy's and torch's too, as Python's; all else is an error."""
    if isinstance(reward, str | bytes) or not hasattr(reward, "__float__"):
        return _wrong("wrong_type", reward, allowed)
    try:
        number = float(reward)
    except (TypeError, ValueError, RuntimeError):  # of an array with several
        return _wrong("wrong_type", reward, allowed)
    is_bool = isinstance(reward, bool) or str(getattr(reward, "dtype", "")) in _BOOL_TYPES
    return bool(number) if is_bool else number


def _wrong(reason: str, returned: Any, allowed: str) -> Outcome:
    shown = f"{type(returned).__name__}: {returned!r:.200}"
    return error(reason, returned=shown, allowed=allowed)


def _finish(returned: Any, read: Callable[[Any], Any]) -> Any:
    """Read a result, now or, of an async function, when it is there."""
    return _later(returned, read) if inspect.isawaitable(returned) else read(returned)


async def _later(returned: Awaitable[Any], read: Callable[[Any], Any]) -> Any:
    return read(await returned)


def _named_as(function: _Function, grade: _Function) -> _Function:
    """Give a grader the name and module of the function, whose self-test items are its own."""
    functools.update_wrapper(grade, function)
    del grade.__wrapped__  # type: ignore[attr-defined]  # its signature is not the function's
    return grade


def _name_of(function: _Function) -> str:
    return str(getattr(function, "__qualname__", function))


def _listed(keywords: _Keywords) -> str:
    return ", ".join(sorted(keywords.names)) or "nothing by keyword"
