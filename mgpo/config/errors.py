"""Errors that the command line turns into exit codes."""


class UserError(ValueError):
    """The user's input is wrong: one clear line, exit code 2."""


class Interrupted(Exception):
    """The run was asked to stop: its state is saved, exit code 130."""
