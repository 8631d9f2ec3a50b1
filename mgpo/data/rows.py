"""Rows as tasks: columns renamed, fields checked, each mistake named by file, line and field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mgpo.config.data import RowsConfig
from mgpo.config.errors import DataError
from mgpo.data.sources import Record, read_records, source_stem

Messages = tuple[Mapping[str, str], ...]

_OWN_FIELDS = ("id", "prompt", "domain", "reward", "reference", "response")
REWARD_OF_DOMAIN = {"math": "math", "stem": "stem", "code": "code", "instruct": "constraints"}
"""Domain -> grader of its rows that name none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A task with a verifiable answer."""

    id: str
    messages: Messages
    domain: str
    reward: str
    reference: Any
    fields: Mapping[str, Any]
    """Every further field, as it is."""
    where: str
    """File and line, as messages name the row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SftRow:
    """A task with a worked response."""

    id: str
    messages: Messages
    response: str
    where: str


_AnyRow = TypeVar("_AnyRow", Row, SftRow)


def problem_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the task in words, for rewards that read it: what the user said last."""
    said = [message["content"] for message in messages if message.get("role") == "user"]
    return str(said[-1]) if said else ""


def load_rows(source: str, config: RowsConfig) -> list[Row]:
    """Return all rows of a source, written as `data.train` describes. Raises DataError."""
    return _load(source, config, _parse_row)


def load_sft_rows(source: str, config: RowsConfig) -> list[SftRow]:
    """Return all rows of a source with their `response`, reference or not. Raises DataError."""
    return _load(source, config, _parse_sft_row)


def our_fields(record: Record, config: RowsConfig) -> dict[str, Any]:
    """Return a record under our field names, with its id and domain, unchecked otherwise.

    The last message of a chat, if it is the assistant's, is the `response`. Raises DataError for a
    column of `config` that it lacks, and for an id that cannot be one.
    """
    fields = _Fields(record, config.columns)
    domain = fields.text("domain", default=config.domain)
    values = {**fields.all(), "id": _id(fields, _default_id(record)), "domain": domain}
    if _ends_with_answer(fields.get("prompt")):
        values["prompt"], values["response"] = _worked(fields)
    return values


def has_verifier(values: Mapping[str, Any]) -> bool:
    """Whether a row, under our field names, has a reference and a reward that reads it."""
    has_reward = values.get("reward") is not None or values.get("domain") in REWARD_OF_DOMAIN
    return has_reward and not _is_blank(values.get("reference"))


def row_of(record: Record, config: RowsConfig) -> Row:
    """Return a record as a task. Raises DataError."""
    return _parse_row(_Fields(record, config.columns), _default_id(record), config)


def check_prompt(record: Record) -> None:
    """Raise DataError unless a record under our field names has a prompt, and a `response`, if
    any, that is text."""
    fields = _Fields(record, {})
    _messages(fields, fields.get("prompt"), suffix="")
    response = fields.get("response")
    if response is not None and not isinstance(response, str):
        raise fields.error("response", f"must be a string, got {response!r:.80}")


def _load(
    source: str, config: RowsConfig, parse: Callable[["_Fields", str, RowsConfig], _AnyRow]
) -> list[_AnyRow]:
    rows = [
        parse(_Fields(record, config.columns), _default_id(record), config)
        for record in read_records(source)
    ]
    if not rows:
        raise DataError(f"{source}: has no rows")
    places: dict[str, str] = {}
    for row in rows:
        if row.id in places:
            raise DataError(f"{row.where}, field id: {row.id!r} is also the id of {places[row.id]}")
        places[row.id] = row.where
    return rows


def _parse_row(fields: "_Fields", default_id: str, config: RowsConfig) -> Row:
    domain = fields.text("domain", default=config.domain)
    return Row(
        id=_id(fields, default_id),
        messages=_messages(fields, fields.get("prompt"), config.prompt_suffix),
        domain=domain,
        reward=_reward(fields, domain),
        reference=_reference(fields, config.reference_after),
        fields=fields.further(),
        where=fields.where,
    )


def _parse_sft_row(fields: "_Fields", default_id: str, config: RowsConfig) -> SftRow:
    prompt, response = _worked(fields)
    return SftRow(
        id=_id(fields, default_id),
        messages=_messages(fields, prompt, config.prompt_suffix),
        response=response,
        where=fields.where,
    )


def _worked(fields: "_Fields") -> tuple[Any, str]:
    """Return prompt and response; in chat messages that end with the assistant's, it is the
    response."""
    prompt = fields.get("prompt")
    if not _ends_with_answer(prompt):
        return prompt, fields.text("response")
    if fields.get("response") is not None:
        raise fields.error(
            "prompt",
            "ends with the assistant's message, but the row also has a response; leave one out",
        )
    (answer,) = _checked_messages(fields, prompt[-1:])
    if not answer["content"].strip():
        raise fields.error("prompt", "the assistant's last message is blank; it is the response")
    return prompt[:-1], answer["content"]


def _ends_with_answer(prompt: Any) -> bool:
    is_chat = isinstance(prompt, list) and bool(prompt) and isinstance(prompt[-1], Mapping)
    return is_chat and prompt[-1].get("role") == "assistant"


class _Fields:
    """One record under our field names."""

    def __init__(self, record: Record, columns: Mapping[str, str]) -> None:
        self.where = record.where
        self._values = {name: self._column(record, name, path) for name, path in columns.items()}
        for name, value in record.values.items():
            if name not in columns.values():
                self._values.setdefault(name, value)

    def get(self, name: str) -> Any:
        """Return a field; None where the row has none."""
        return self._values.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a field that must be a string with something in it."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if value is None:
            raise self.error(name, "missing; add it to the row or map a column (data.columns)")
        if not isinstance(value, str) or not value.strip():
            raise self.error(name, f"must be a string that is not blank, got {value!r:.80}")
        return value

    def all(self) -> dict[str, Any]:
        """Return every field."""
        return dict(self._values)

    def further(self) -> dict[str, Any]:
        """Return the fields that mean nothing to us."""
        return {name: value for name, value in self._values.items() if name not in _OWN_FIELDS}

    def error(self, name: str, problem: str) -> DataError:
        """Name row and field."""
        return DataError(f"{self.where}, field {name}: {problem}")

    def _column(self, record: Record, name: str, path: str) -> Any:
        if path in record.values:
            return record.values[path]
        value: Any = record.values
        for part in path.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise self.error(
                    name,
                    f"data.columns reads it from column {path}, but the row has only "
                    f"{', '.join(record.values)}",
                )
            value = value[part]
        return value


def _default_id(record: Record) -> str:
    return f"{source_stem(record.source)}-{record.number}"


def _id(fields: _Fields, default: str) -> str:
    value = fields.get("id")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise fields.error("id", f"must be a string or a whole number, got {value!r:.80}")
    return str(value)


def _reward(fields: _Fields, domain: str) -> str:
    if fields.get("reward") is None and domain not in REWARD_OF_DOMAIN:
        raise fields.error(
            "reward",
            f"missing, and domain {domain!r} has no default "
            f"(those that have: {', '.join(REWARD_OF_DOMAIN)})",
        )
    return fields.text("reward", default=REWARD_OF_DOMAIN.get(domain))


def _reference(fields: _Fields, marker: str | None) -> Any:
    value = fields.get("reference")
    if isinstance(value, str) and marker is not None:
        _, found, value = value.rpartition(marker)
        if not found:
            raise fields.error("reference", f"data.reference_after {marker!r} does not occur in it")
        value = value.strip()
    if _is_blank(value):
        raise fields.error("reference", "missing; a row needs something to be graded against")
    return value


def _is_blank(value: Any) -> bool:
    is_blank_text = isinstance(value, str) and not value.strip()
    return value is None or value in ("", [], {}) or is_blank_text


def _messages(fields: _Fields, prompt: Any, suffix: str) -> Messages:
    if not isinstance(prompt, list):
        return ({"role": "user", "content": fields.text("prompt") + suffix},)
    messages = list(_checked_messages(fields, prompt))
    if not messages or messages[-1]["role"] != "user":
        raise fields.error(
            "prompt", "the last chat message must be the user's (before the response, if any)"
        )
    messages[-1]["content"] += suffix
    return tuple(messages)


def _checked_messages(fields: _Fields, prompt: list[Any]) -> Iterator[dict[str, str]]:
    for message in prompt:
        is_plain = isinstance(message, Mapping) and all(
            isinstance(message.get(key), str) for key in ("role", "content")
        )
        if not is_plain:
            raise fields.error(
                "prompt", f"a chat message has a role and a content, both text, got {message!r:.80}"
            )
        more = [
            name
            for name, value in message.items()
            if value is not None and name not in ("role", "content")
        ]
        if more:
            raise fields.error("prompt", f"a chat message has role and content only, got {more}")
        yield {"role": message["role"], "content": message["content"]}
