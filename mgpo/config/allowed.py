"""What a key of a configuration may hold, in words, and whether a value has the right shape."""

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    NoneType: "null",
}


def allowed_values(config_type: type[Any], key: str) -> str:
    """Say what a dotted key of a dataclass tree allows."""
    return _in_words(_hint_of(config_type, key))


def has_right_shape(config_type: type[Any], key: str, value: Any) -> bool:
    """Whether a value is a mapping, a list or neither, as its key needs; inside it too.

    The types of what is neither are OmegaConf's to check, and so is null.
    """
    return _fits(_hint_of(config_type, key), value)


def value_at(values: Any, key: str) -> Any:
    """Return the value of a dotted key in nested mappings and lists."""
    for name in _names(key):
        values = values[int(name) if isinstance(values, list) else name]
    return values


def _names(key: str) -> list[str]:
    return [name for name in re.split(r"[.\[\]]+", key) if name]


def _hint_of(config_type: type[Any], key: str) -> Any:
    hint: Any = config_type
    for name in _names(key):
        if get_origin(hint) in (Union, UnionType):  # a name leads into what may be absent, too
            hint = next(filter(_has_names, get_args(hint)), hint)
        hint = get_type_hints(hint)[name] if is_dataclass(hint) else get_args(hint)[-1]
    return hint


def _has_names(hint: Any) -> bool:
    return get_origin(hint) in (dict, list) or is_dataclass(hint)


def _in_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin in (Union, UnionType):
        return " or ".join(map(_in_words, inner))
    if origin is dict and inner[1] is Any:
        return "a mapping of names to values"
    if origin is dict:
        return f"a mapping of names to values that are each {_in_words(inner[1])}"
    if origin is list:
        return f"a list of entries that are each {_in_words(inner[0])}"
    return "a section with keys of its own" if is_dataclass(hint) else _WORDS[hint]


def _fits(hint: Any, value: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    is_reference = isinstance(value, str) and "${" in value
    if value is None or hint is Any or is_reference:
        return True
    if origin in (Union, UnionType):
        return any(_fits(each, value) for each in inner)
    if origin is dict:
        return isinstance(value, Mapping) and all(_fits(inner[1], each) for each in value.values())
    if origin is list:
        return isinstance(value, list) and all(_fits(inner[0], each) for each in value)
    if is_dataclass(hint):
        return isinstance(value, Mapping)
    return not isinstance(value, Mapping | list)
