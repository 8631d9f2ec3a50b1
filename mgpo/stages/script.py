"""`stage: script`: a program of the user's between two stages of a pipeline."""

import shlex
import sys

from mgpo.config.errors import UserError
from mgpo.config.script import ScriptConfig
from mgpo.pipeline.launch import run_process


def run(config: ScriptConfig) -> str:
    """Run the command and check that it made what it was to make. Raises UserError."""
    program, *arguments = config.command
    command = [sys.executable if program == "python" else program, *arguments]
    try:
        code, _ = run_process(command, program)
    except OSError as error:
        raise UserError(f"{shlex.join(config.command)}: cannot be started: {error}") from error
    if code != 0:
        raise UserError(f"{shlex.join(config.command)}: ended with code {code}")
    missing = [str(path) for path in config.artifacts().values() if not path.exists()]
    if missing:
        raise UserError(f"{shlex.join(config.command)}: did not make {', '.join(missing)}")
    return f"{shlex.join(config.command)}: made {', '.join(config.outputs)}"
