"""The configuration a run was started with, against the one it is continued with."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from mgpo.config.errors import ConfigError
from mgpo.config.keys import flatten, is_below, is_limit
from mgpo.config.load import config_to_yaml
from mgpo.config.stage import StageConfig
from mgpo.tracking.files import write_atomically

logger = logging.getLogger(__name__)

_IGNORED = ("run.resume",)
_ABSENT = "(absent)"

Changes = dict[str, tuple[Any, Any]]
"""Dotted key -> old and new value."""


def config_changes(path: Path, config: StageConfig) -> Changes:
    """Return the keys that differ from the stored configuration; nothing if there is none."""
    if not path.is_file():
        return {}
    old = flatten(OmegaConf.to_container(OmegaConf.load(path)))
    new = flatten(OmegaConf.to_container(OmegaConf.structured(config)))
    return {
        key: (old.get(key, _ABSENT), new.get(key, _ABSENT))
        for key in sorted(old.keys() | new.keys())
        if key not in _IGNORED and old.get(key, _ABSENT) != new.get(key, _ABSENT)
    }


def refuse_broken_continuation(changes: Changes, fixed_keys: Sequence[str], run_path: Path) -> None:
    """Raise ConfigError if what a run has done cannot be continued under these changes."""
    broken = [
        f"{key}: {old!r} -> {new!r}"
        for key, (old, new) in changes.items()
        if is_below(key, fixed_keys) and not is_limit(key)
    ]
    if broken:
        raise ConfigError(
            f"{run_path} cannot be continued with {', '.join(broken)}: "
            "set it back, or choose another run.name for a new run"
        )


def store_config(path: Path, config: StageConfig, changes: Changes) -> None:
    """Write config.yaml; one that differs is kept as config.1.yaml, config.2.yaml, ... in order."""
    for key, (old, new) in changes.items():
        logger.warning("configuration changed: %s: %r -> %r", key, old, new)
    if changes:
        number = 1 + len(list(path.parent.glob("config.*.yaml")))
        write_atomically(path.with_name(f"config.{number}.yaml"), path.read_bytes())
    write_atomically(path, config_to_yaml(config))
