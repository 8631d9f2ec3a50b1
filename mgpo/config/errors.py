"""Errors that the command line turns into exit codes."""


class UserError(ValueError):
    """The user's input is wrong: one clear line, exit code 2."""


class ConfigError(UserError):
    """An experiment file or an override is wrong; the message names the key and its place."""


class DataError(UserError):
    """A data file is wrong; the message names file, line (or row) and field."""


class StageFailed(Exception):
    """A stage of a pipeline ended badly and has said why."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """What the stage ended with, at least 1."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop: its state is saved, exit code 130.

    A KeyboardInterrupt, because Ray's waits let only that one through.
    """
