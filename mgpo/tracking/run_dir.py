"""The folder of a run: who holds it, what it was configured to do, and where it came from."""

import fcntl
import hashlib
import json
import logging
import os
import platform
import subprocess
import sys
import time
import uuid
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

import mgpo
from mgpo.config.errors import ConfigError
from mgpo.config.stages import StageConfig
from mgpo.tracking.files import write_atomically

logger = logging.getLogger(__name__)

_PACKAGES = (
    "mgpo",
    "torch",
    "ray",
    "transformers",
    "vllm",
    "flash-attn",
    "math-verify",
    "datasets",
)
_FIXED_KEYS = (
    "stage",
    "run.seed",
    "model.path",
    "data.train",
    "data.prompts_per_step",
    "rollout.group_size",
    "sft.samples_per_step",
)
"""A run can't go on under another value of these: order, seeds or weights would not continue."""


class RunDir:
    """An exclusively held run folder (see docs/architecture.md for its files)."""

    def __init__(self, path: Path, lock: Any) -> None:
        self.path = path
        self._lock = lock
        self.metrics_path = path / "metrics.jsonl"
        self.samples_dir = path / "samples"
        self.checkpoints_dir = path / "checkpoints"
        self.final_dir = path / "final"
        self.wandb_dir = path
        self.wandb_id = self._wandb_id()

    @classmethod
    def open(cls, config: StageConfig) -> "RunDir":
        """Make or re-open the folder of a run and write its configuration and provenance.

        Raises ConfigError if another process holds it, if it exists under run.resume=never, or if
        a key differs that a continuation can't change.
        """
        path = config.run.path
        path.mkdir(parents=True, exist_ok=True)
        lock = _acquire(path)
        earlier = path / "config.yaml"
        if earlier.exists():
            if config.run.resume == "never":
                raise ConfigError(
                    f"{path} holds a run already and run.resume is never; "
                    "choose another run.name, or run.resume=auto to continue it"
                )
            _compare(earlier, config)
        write_atomically(earlier, OmegaConf.to_yaml(OmegaConf.structured(config)))
        run_dir = cls(path, lock)
        run_dir._write_provenance(config)
        run_dir.samples_dir.mkdir(exist_ok=True)
        return run_dir

    def close(self) -> None:
        """Let go of the folder."""
        self._lock.close()

    def _wandb_id(self) -> str:
        path = self.path / "wandb_id"
        if not path.exists():
            write_atomically(path, uuid.uuid4().hex[:12])
        return path.read_text(encoding="utf-8")

    def _write_provenance(self, config: StageConfig) -> None:
        path = self.path / "provenance.json"
        launches = json.loads(path.read_text(encoding="utf-8"))["launches"] if path.exists() else []
        launches.append(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                "command": sys.argv,
                "host": platform.node(),
                "source": str(Path(mgpo.__file__).parent),
                "git": _git_state(),
                "python": platform.python_version(),
                "versions": {name: _version(name) for name in _PACKAGES},
                "inputs": _hashes(config),
            }
        )
        write_atomically(path, json.dumps({"launches": launches}, indent=1))


def _acquire(path: Path) -> Any:
    """Lock the folder; the kernel lets go of it however the process ends."""
    lock = (path / ".lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise ConfigError(
            f"{path} is in use by process {holder}; wait for it, end it, or choose another run.name"
        ) from error
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _compare(earlier: Path, config: StageConfig) -> None:
    before = _flat(OmegaConf.to_container(OmegaConf.load(earlier)))
    now = _flat(asdict(config))
    changed = {
        key: f"{before.get(key)!r} -> {now.get(key)!r}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    }
    for key, change in changed.items():
        logger.warning("resuming with another %s: %s", key, change)
    fixed = [f"{key} ({changed[key]})" for key in _FIXED_KEYS if key in changed]
    if fixed:
        raise ConfigError(
            f"{earlier.parent} can't be continued with another {', '.join(fixed)}; "
            "restore the value, or choose another run.name"
        )


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
    return flat


def _git_state() -> dict[str, Any] | None:
    root = Path(mgpo.__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "is_dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _hashes(config: StageConfig) -> dict[str, str]:
    """Return SHA-256 of the data files and of the model's descriptions; hub names have none."""
    paths = [Path(source) for source in (config.data.train, config.data.eval) if source]
    model = Path(config.model.path)
    paths += [model / name for name in ("config.json", "tokenizer.json", "model.safetensors")]
    hashes = {}
    for path in paths:
        if path.is_file():
            with path.open("rb") as file:
                hashes[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes
