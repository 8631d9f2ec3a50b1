"""From an experiment file and `key=value` overrides to plain dataclasses: merge, check, explain.

Dataclass defaults < YAML < overrides. Every mistake is a ConfigError of one line that names the key
and the file or override it came from.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mgpo.config.errors import ConfigError
from mgpo.config.keys import nearest_keys, sections_and_leaves
from mgpo.config.stages import STAGES, StageConfig

_DEFAULT_STAGE = "rl"

_Layer = tuple[str, dict[Any, Any]]
"""Where values were given, as messages name it, and the values."""


def load_config(path: str | Path, overrides: Sequence[str], stage: str | None) -> StageConfig:
    """Return the configuration of an experiment; `stage` is the command's, None: the file decides.

    A file that names no stage takes the command's, or else `rl`.
    """
    layers = [_read_yaml(Path(path)), *(_parse_override(text) for text in overrides)]
    config_type = STAGES[_stage_of(layers, stage)]
    merged = OmegaConf.structured(config_type)
    keys = sections_and_leaves(config_type)
    for source, values in layers:
        _check_keys(source, values, keys)
        try:
            merged = OmegaConf.merge(merged, values)
        except OmegaConfBaseException as error:
            raise ConfigError(f"{source}: {_explain(error)}") from error
    return _to_object(merged, Path(path))


def config_to_yaml(config: StageConfig) -> str:
    """Return the resolved configuration as YAML that `load_config` reads back unchanged."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def _read_yaml(path: Path) -> _Layer:
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


def _parse_override(text: str) -> _Layer:
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


def _stage_of(layers: Sequence[_Layer], command: str | None) -> str:
    named = [(source, values["stage"]) for source, values in layers if "stage" in values]
    source, stage = named[-1] if named else ("", command or _DEFAULT_STAGE)
    if not isinstance(stage, str) or stage not in STAGES:
        raise ConfigError(f"{source}: stage must be one of {', '.join(STAGES)}, got {stage!r}")
    if command is not None and stage != command:
        raise ConfigError(f"{source}: says stage {stage}; run it with `mgpo {stage}`")
    return stage


def _check_keys(
    source: str, values: Mapping[Any, Any], keys: Mapping[str, bool], prefix: str = ""
) -> None:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if "." in str(name):
            raise ConfigError(f"{source}: {key}: in a file, write a dotted key as nested sections")
        if key not in keys:
            raise ConfigError(f"{source}: {_explain_unknown(key, value, list(keys))}")
        if not keys[key]:
            continue
        if not isinstance(value, Mapping):
            raise ConfigError(f"{source}: {key} is a section with keys of its own, got {value!r}")
        _check_keys(source, value, keys, prefix=f"{key}.")


def _explain_unknown(key: str, value: Any, known: list[str]) -> str:
    while isinstance(value, Mapping) and value:  # an unknown section is named by its first leaf
        name, value = next(iter(value.items()))
        key = f"{key}.{name}"
    nearest = nearest_keys(key, known)
    return f"unknown key {key}" + (f"; did you mean {' or '.join(nearest)}?" if nearest else "")


def _to_object(merged: DictConfig, path: Path) -> StageConfig:
    try:
        missing = sorted(OmegaConf.missing_keys(merged))
        config = None if missing else OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{path}: {_explain(error)}") from error
    except ValueError as error:  # a range or cross-field check in __post_init__; names its key
        raise ConfigError(_one_line(error)) from error
    if missing:
        raise ConfigError(f"{path}: missing {', '.join(missing)}: set there or as key=value")
    assert isinstance(config, StageConfig)
    return config


def _explain(error: OmegaConfBaseException) -> str:
    message = str(error).partition("\n")[0]
    return f"{error.full_key}: {message}" if error.full_key else message


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
