"""Rows as tasks: columns renamed, fields checked, each mistake named by file, line and field."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mgpo.config.data import DataConfig
from mgpo.config.errors import DataError
from mgpo.data.sources import Record, read_records, source_stem

Messages = tuple[Mapping[str, str], ...]

_OWN_FIELDS = ("id", "prompt", "domain", "reward", "reference", "response")
_REWARD_OF_DOMAIN = {"math": "math", "stem": "stem", "code": "code", "instruct": "constraints"}


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


def load_rows(source: str, config: DataConfig) -> list[Row]:
    """Return all rows of a source, written as `data.train` describes. Raises DataError."""
    return _load(source, config, _parse_row)


def load_sft_rows(source: str, config: DataConfig) -> list[SftRow]:
    """Return all rows of a source with their `response`, reference or not. Raises DataError."""
    return _load(source, config, _parse_sft_row)


def _load(
    source: str, config: DataConfig, parse: Callable[["_Fields", str, DataConfig], _AnyRow]
) -> list[_AnyRow]:
    stem = source_stem(source)
    rows = [
        parse(_Fields(record, config.columns), f"{stem}-{record.number}", config)
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


def _parse_row(fields: "_Fields", default_id: str, config: DataConfig) -> Row:
    domain = fields.text("domain", default=config.domain)
    return Row(
        id=_id(fields, default_id),
        messages=_messages(fields, config.prompt_suffix),
        domain=domain,
        reward=_reward(fields, domain),
        reference=_reference(fields, config.reference_after),
        fields=fields.further(),
        where=fields.where,
    )


def _parse_sft_row(fields: "_Fields", default_id: str, config: DataConfig) -> SftRow:
    return SftRow(
        id=_id(fields, default_id),
        messages=_messages(fields, config.prompt_suffix),
        response=fields.text("response"),
        where=fields.where,
    )


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


def _id(fields: _Fields, default: str) -> str:
    value = fields.get("id")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise fields.error("id", f"must be a string or a whole number, got {value!r:.80}")
    return str(value)


def _reward(fields: _Fields, domain: str) -> str:
    if fields.get("reward") is None and domain not in _REWARD_OF_DOMAIN:
        raise fields.error(
            "reward",
            f"missing, and domain {domain!r} has no default "
            f"(those that have: {', '.join(_REWARD_OF_DOMAIN)})",
        )
    return fields.text("reward", default=_REWARD_OF_DOMAIN.get(domain))


def _reference(fields: _Fields, marker: str | None) -> Any:
    value = fields.get("reference")
    if isinstance(value, str) and marker is not None:
        _, found, value = value.rpartition(marker)
        if not found:
            raise fields.error("reference", f"data.reference_after {marker!r} does not occur in it")
        value = value.strip()
    if value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip()):
        raise fields.error("reference", "missing; a row needs something to be graded against")
    return value


def _messages(fields: _Fields, suffix: str) -> Messages:
    prompt = fields.get("prompt")
    if not isinstance(prompt, list):
        return ({"role": "user", "content": fields.text("prompt") + suffix},)
    messages = list(_checked_messages(fields, prompt))
    if not messages or messages[-1]["role"] != "user":
        raise fields.error("prompt", "the last chat message must be the user's")
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
