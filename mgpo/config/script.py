"""A step of a pipeline that is a program of the user's."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from omegaconf import MISSING

from mgpo.config.ranges import require_at_least


@dataclass(frozen=True, kw_only=True)
class ScriptConfig:
    """`stage: script`: a command between stages, such as one that prepares data."""

    stage: Literal["script"] = "script"
    command: list[str] = MISSING
    """Program and arguments, without a shell; `python` is the interpreter that runs mgpo."""
    inputs: list[str] = field(default_factory=list)
    """Files and model folders it reads; the step is done again when one of them has changed."""
    outputs: list[str] = MISSING
    """Files and folders it makes; it has failed if one of them is missing when it has ended."""

    def __post_init__(self) -> None:
        require_at_least("the number of words in command", len(self.command), 1)
        require_at_least("the number of outputs", len(self.outputs), 1)

    def data_sources(self) -> dict[str, str]:
        """Return the files and folders that are read, the program's own files among them."""
        named = {*self.inputs, *self.outputs}
        programs = {
            f"command[{n}]": word
            for n, word in enumerate(self.command)
            if word not in named and Path(word).is_file()
        }
        data = {f"inputs[{n}]": path for n, path in enumerate(self.inputs) if not _is_model(path)}
        return programs | data

    def model_sources(self) -> dict[str, str]:
        """Return the model folders that are read."""
        return {f"inputs[{n}]": path for n, path in enumerate(self.inputs) if _is_model(path)}

    def artifacts(self) -> dict[str, Path]:
        """Return what the step makes, absolute."""
        return {f"outputs[{n}]": Path(path).resolve() for n, path in enumerate(self.outputs)}


def _is_model(path: str) -> bool:
    return (Path(path) / "config.json").is_file()
