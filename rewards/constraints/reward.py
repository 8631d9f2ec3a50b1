"""The `constraints` reward: does a response do what its instructions say?

A row's reference is `{"constraints": [{"id": ..., "kwargs": {...}}, ...]}`. Fields of the row, all
optional: `compat` ("ifeval", "ifbench": the verdicts of the official code, to publish numbers),
`strict` (false: the best of IFEval's eight readings), `fraction` (true: the reward is the share of
constraints that are met), `guard` (true: also wrong if the text says next to nothing),
`after_thinking` (true: `compat`, too, reads only what follows the thinking), `both_readings` (true:
`detail.loose_verdicts` beside the strict ones).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewards.answers import final_part
from rewards.constraints import (
    ifbench,
    ifbench_official,
    ifeval,
    ifeval_official,
    kinds,
    language,
    own,
)
from rewards.constraints.as_seen import as_seen
from rewards.constraints.catalogue import Constraint, nearest
from rewards.constraints.loose import variants
from rewards.constraints.text import PATTERN_TIMEOUT_S
from rewards.options import refuse_near_misses
from rewards.types import Outcome, error

CATALOGUES: Mapping[str | None, Mapping[str, Constraint]] = {
    None: {**ifeval.CONSTRAINTS, **ifbench.CONSTRAINTS, **own.CONSTRAINTS},
    "ifeval": ifeval_official.CONSTRAINTS,
    "ifbench": {**ifeval_official.CONSTRAINTS, **ifbench_official.CONSTRAINTS},
}
"""`compat` -> id -> constraint."""

SELF_TEST = [
    ("Rain fell. We read.", {"constraints": [{"id": "punctuation:no_comma"}]}, True),
    ("Rain fell, so we read.", {"constraints": [{"id": "punctuation:no_comma"}]}, False),
    (
        "<think>no, not yet</think> A lantern hung there.",
        {
            "constraints": [
                {"id": "keywords:existence", "kwargs": {"keywords": ["lantern"]}},
                {"id": "punctuation:no_comma"},
            ]
        },
        True,
    ),
    (
        "Lanterns hung there.",
        {"constraints": [{"id": "keywords:existence", "kwargs": {"keywords": ["lantern"]}}]},
        False,
    ),
    (
        "Der Zug kommt morgen um acht Uhr an.",
        {"constraints": [{"id": "language:response_language", "kwargs": {"language": "de"}}]},
        True,
    ),
    ("", {"constraints": [{"id": "punctuation:no_comma"}]}, False),
]
"""(response, reference, expected verdict)."""

_FLAGS = {
    "strict": True,
    "fraction": False,
    "guard": False,
    "after_thinking": False,
    "both_readings": False,
}
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class _Ready:
    """A constraint with the arguments that its check gets."""

    name: str
    constraint: Constraint
    kwargs: Mapping[str, Any]

    def is_met(self, texts: Sequence[str]) -> bool:
        """Whether one of the readings meets it; a blank text meets nothing.

        Raises TimeoutError with the constraint's id when a pattern of the row takes too long.
        """
        check = self.constraint.check
        try:
            return any(text.strip() and check(text, **self.kwargs) for text in texts)
        except TimeoutError as late:
            raise TimeoutError(self.name) from late


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """The fields of a row that this reward reads."""

    compat: str | None
    strict: bool
    fraction: bool
    guard: bool
    after_thinking: bool
    both_readings: bool


def grade(response: str, reference: Any, **fields: Any) -> Outcome:
    """Return whether the response meets all constraints, with one verdict each in the detail.

    A reference or field that can't be read is an error, as is a pattern of the reference that takes
    too long; neither is a wrong answer. In `compat` the whole response counts, else what follows
    the thinking.
    """
    try:
        options = _options(fields)
        constraints = _constraints(reference, options.compat)
    except ValueError as problem:
        return error("bad_reference", problem=str(problem))
    text = _graded_text(response, options)
    texts = [text] if options.strict else variants(text)
    loose = None
    try:
        verdicts = [each.is_met(texts) for each in constraints]
        if options.both_readings:
            loose = [each.is_met(variants(text)) for each in constraints]
        has_content = not options.guard or own.has_substance(text)
    except TimeoutError as late:
        return error("pattern_timeout", constraint=str(late), limit_s=PATTERN_TIMEOUT_S)
    outcome = _outcome(constraints, verdicts, has_content, options)
    if loose is None:
        return outcome
    return replace(outcome, detail={**outcome.detail, "loose_verdicts": loose})


def check_reference(reference: Any, **fields: Any) -> None:
    """Raise ValueError for a row that can't be graded: which constraint, which argument, why."""
    _constraints(reference, _options(fields).compat)


def warm_up() -> None:
    """Load the language model before the first deadline starts."""
    language.warm_up()


def _graded_text(response: str, options: _Options) -> str:
    if not options.compat:
        return as_seen(final_part(response) or "")
    if not options.after_thinking or ("</think>" not in response and "<think>" not in response):
        return response
    return (final_part(response) or "").lstrip()


def _outcome(
    constraints: Sequence[_Ready], verdicts: list[bool], has_content: bool, options: _Options
) -> Outcome:
    failed = [each.name for each, verdict in zip(constraints, verdicts, strict=True) if not verdict]
    is_right = not failed and has_content
    detail: dict[str, Any] = {"verdicts": verdicts, "failed": failed}
    if options.guard:
        detail["has_content"] = has_content
    if options.compat:
        detail["approximate"] = [
            each.name for each in constraints if each.constraint.is_approximate
        ]
    share = sum(verdicts) / len(verdicts) if has_content else 0.0
    return Outcome(
        status="ok",
        correct=is_right,
        value=share if options.fraction else float(is_right),
        reason=_reason(failed, has_content),
        detail=detail,
        is_graded=options.fraction,
    )


def _reason(failed: Sequence[str], has_content: bool) -> str:
    if failed:
        return "not_met"
    return "all_met" if has_content else "no_content"


def _options(fields: Mapping[str, Any]) -> _Options:
    refuse_near_misses("constraints", fields, ("compat", *_FLAGS))
    compat = fields.get("compat")
    if not isinstance(compat, str | None) or compat not in CATALOGUES:
        known = ", ".join(str(name) for name in CATALOGUES if name)
        raise ValueError(f"option compat must be absent or one of {known}; got {compat!r}")
    return _Options(compat=compat, **{name: _flag(fields, name) for name in _FLAGS})


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if value is None:
        return _FLAGS[name]
    # `mgpo score --set strict=false` hands over the word.
    value = _WORDS.get(value.lower(), value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise ValueError(f"option {name} must be true or false; got {value!r}")
    return value


def _constraints(reference: Any, compat: str | None) -> list[_Ready]:
    rows = reference.get("constraints") if isinstance(reference, Mapping) else None
    is_list = isinstance(rows, Sequence) and not isinstance(rows, str | bytes)
    if not is_list or not rows:
        raise ValueError(
            'reference must be {"constraints": [{"id": ..., "kwargs": {...}}, ...]} with at least '
            f"one constraint; got {str(reference)[:200]!r}"
        )
    return [_ready(row, compat) for row in rows]


def _ready(row: Any, compat: str | None) -> _Ready:
    if not isinstance(row, Mapping) or set(row) - {"id", "kwargs"} or "id" not in row:
        raise ValueError(f"a constraint must be {{id, kwargs}}; got {str(row)[:200]!r}")
    catalogue, name, kwargs = CATALOGUES[compat], row["id"], row.get("kwargs")
    if not isinstance(name, str) or name not in catalogue:
        where = f"compat {compat}" if compat else "the default mode"
        raise ValueError(
            f"unknown constraint id {name!r} in {where}, which knows {len(catalogue)} ids "
            f"(rewards/constraints/README.md lists them){nearest(str(name), catalogue)}"
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"constraint {name}: kwargs must be an object; got {str(kwargs)[:200]!r}")
    constraint, given = catalogue[name], kwargs or {}
    if compat is None:
        given = {key: _as_seen(value, constraint, key) for key, value in given.items()}
    return _Ready(name, constraint, constraint.read(name, given))


def _as_seen(value: Any, constraint: Constraint, key: str) -> Any:
    """Return the texts of an argument as checks see the response; patterns stay what they are."""
    if constraint.kwargs.get(key) in (kinds.pattern, kinds.schema):
        return value
    if isinstance(value, list | tuple):
        return [as_seen(each) if isinstance(each, str) else each for each in value]
    return as_seen(value) if isinstance(value, str) else value
