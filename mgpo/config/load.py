"""From an experiment file and `key=value` overrides to plain dataclasses: merge, check, explain.

Dataclass defaults < YAML < overrides. Every mistake is a ConfigError of one line that names the key
and the file or override it came from.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import KeyValidationError, OmegaConfBaseException, ValidationError
from yaml import YAMLError

from mgpo.config.allowed import allowed_values, has_right_shape, value_at
from mgpo.config.errors import ConfigError
from mgpo.config.keys import KeyKind, nearest_keys, sections_and_leaves
from mgpo.config.stages import STAGES, AnyConfig

_DEFAULT_STAGE = "rl"

Config = TypeVar("Config")

Layer = tuple[str, dict[Any, Any]]
"""Where values were given, as messages name it, and the values."""


def load_config(path: str | Path, overrides: Sequence[str], stage: str | None) -> AnyConfig:
    """Return the configuration of a stage; `stage` is the command's, None: the file decides.

    A file that names no stage takes the command's, or else `rl`.
    """
    layers = _read_layers(Path(path), overrides)
    return resolve_layers(layers, STAGES[_stage_of(layers, stage)], Path(path))


def known_keys(path: str | Path) -> dict[str, KeyKind]:
    """Return the keys that the stage of an experiment file has, with what stands under each."""
    stage = _stage_of(_read_layers(Path(path), []), None)
    return sections_and_leaves(STAGES[stage])


def config_to_yaml(config: AnyConfig) -> str:
    """Return the resolved configuration as YAML that `load_config` reads back unchanged."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def _read_layers(path: Path, overrides: Sequence[str]) -> list[Layer]:
    return [read_yaml(path), *(parse_override(text) for text in overrides)]


def resolve_layers(layers: Sequence[Layer], config_type: type[Config], path: Path) -> Config:
    """Return a configuration of that type: its defaults, then each layer over those before.

    `path` is named for what is missing. Raises ConfigError.
    """
    merged = OmegaConf.structured(config_type)
    keys = sections_and_leaves(config_type)
    for source, values in layers:
        _check_keys(source, values, keys)
        _check_shapes(source, values, config_type, keys)
        try:
            merged = OmegaConf.merge(merged, values)
        except OmegaConfBaseException as error:
            raise ConfigError(f"{source}: {_explain(error, config_type, values)}") from error
    return _to_object(merged, config_type, path)


def read_yaml(path: Path) -> Layer:
    """Read a file as a layer. Raises ConfigError."""
    try:
        loaded = OmegaConf.load(path)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such experiment file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {_one_line(error)}") from error
    except (YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{path}: not valid YAML: {_one_line(error)}") from error
    values = OmegaConf.to_container(loaded)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: an experiment is a YAML mapping of keys, got a list")
    return str(path), values


def parse_override(text: str) -> Layer:
    """Read `key=value` as a layer. Raises ConfigError."""
    key, equals, _ = text.partition("=")
    source = f"override {text!r}"
    if not equals or not all(part.strip() for part in key.split(".")):
        raise ConfigError(f"{source}: an override is written key=value, e.g. rollout.group_size=8")
    try:
        values = OmegaConf.to_container(OmegaConf.from_dotlist([text]))
    except (YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{source}: the value is not valid YAML: {_one_line(error)}") from error
    assert isinstance(values, dict)
    value = text.partition("=")[2].strip()
    if value.startswith("#"):
        raise ConfigError(
            f"{source}: YAML reads this value as a comment; put it in quotes, "
            f"e.g. {key}='\"{value}\"'"
        )
    return source, values


def _stage_of(layers: Sequence[Layer], command: str | None) -> str:
    named = [(source, values["stage"]) for source, values in layers if "stage" in values]
    source, stage = named[-1] if named else ("", command or _DEFAULT_STAGE)
    if not isinstance(stage, str) or stage not in STAGES:
        raise ConfigError(f"{source}: stage must be one of {', '.join(STAGES)}, got {stage!r}")
    if command is not None and stage != command:
        raise ConfigError(f"{source}: says stage {stage}; run it with `mgpo {stage}`")
    return stage


def _check_keys(
    source: str, values: Mapping[Any, Any], keys: Mapping[str, KeyKind], prefix: str = ""
) -> None:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if "." in str(name):
            raise ConfigError(f"{source}: {key}: in a file, write a dotted key as nested sections")
        if key not in keys:
            raise ConfigError(f"{source}: {_explain_unknown(key, value, list(keys))}")
        if keys[key] is KeyKind.LEAF or (keys[key] is KeyKind.OPTIONAL_SECTION and value is None):
            continue
        if not isinstance(value, Mapping):
            raise ConfigError(f"{source}: {key} is a section with keys of its own, got {value!r}")
        _check_keys(source, value, keys, prefix=f"{key}.")


def _check_shapes(
    source: str,
    values: Mapping[Any, Any],
    config_type: type[Any],
    keys: Mapping[str, KeyKind],
    prefix: str = "",
) -> None:
    """Refuse what OmegaConf fails on without naming the key, or lets pass."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if keys[key] is not KeyKind.LEAF:
            _check_shapes(source, value or {}, config_type, keys, prefix=f"{key}.")
        elif not has_right_shape(config_type, key, value):
            raise ConfigError(f"{source}: {_must_be(config_type, key, value)}")


def _must_be(config_type: type[Any], key: str, value: Any) -> str:
    return f"{key} must be {allowed_values(config_type, key)}, got {value!r:.200}"


def _explain_unknown(key: str, value: Any, known: list[str]) -> str:
    while isinstance(value, Mapping) and value:  # an unknown section is named by its first leaf
        name, value = next(iter(value.items()))
        key = f"{key}.{name}"
    nearest = nearest_keys(key, known)
    return f"unknown key {key}" + (f"; did you mean {' or '.join(nearest)}?" if nearest else "")


def _to_object(merged: DictConfig, config_type: type[Config], path: Path) -> Config:
    try:
        missing = sorted(OmegaConf.missing_keys(merged))
        config = None if missing else OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise ConfigError(
            f"{path}: {_explain(error, config_type, OmegaConf.to_container(merged))}"
        ) from error
    except ValueError as error:  # a range or cross-field check in __post_init__; names its key
        raise ConfigError(_one_line(error)) from error
    if missing:
        raise ConfigError(f"{path}: missing {', '.join(missing)}: set there or as key=value")
    assert isinstance(config, config_type)
    return config


def _explain(error: OmegaConfBaseException, config_type: type[Any], values: Any) -> str:
    """Say it in our words where a value has a type that its key does not allow."""
    key, message = error.full_key or "", str(error).partition("\n")[0]
    if isinstance(error, KeyValidationError):
        section, _, name = key.rpartition(".")
        return f"{section} must have names as keys, got {name}; write it in quotes"
    if key and isinstance(error, ValidationError):
        return _must_be(config_type, key, value_at(values, key))
    return f"{key}: {message}" if key else message


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
