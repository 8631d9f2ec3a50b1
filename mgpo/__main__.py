"""`mgpo` = `python -m mgpo`: parses first, imports the stage after.

Exit codes: 0 done; 2 the user's input is wrong (one line); 130 interrupted, state saved; anything
else is a fault of ours and ends with its traceback and exit code 1.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from mgpo.config.errors import Interrupted, UserError

EXIT_DONE, EXIT_USER_ERROR, EXIT_INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = _make_parser().parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # As `python -m` does, also for the installed command: a user's reward may lie right here.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        print(args.command(args.experiment, args.overrides))
    except UserError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_USER_ERROR
    except Interrupted as error:
        print(f"{error}; what was done is saved: the same command continues", file=sys.stderr)
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        print("interrupted: stopped by the user without saving", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_DONE


def _rl(experiment: str, overrides: Sequence[str]) -> str:
    from mgpo.config.load import load_config
    from mgpo.config.stages import RlConfig

    config = load_config(experiment, overrides, "rl")
    assert isinstance(config, RlConfig)
    from mgpo.stages import rl

    return rl.run(config)


def _sft(experiment: str, overrides: Sequence[str]) -> str:
    from mgpo.config.load import load_config
    from mgpo.config.stages import SftConfig

    config = load_config(experiment, overrides, "sft")
    assert isinstance(config, SftConfig)
    from mgpo.stages import sft

    return sft.run(config)


def _check(experiment: str, overrides: Sequence[str]) -> str:
    from mgpo.config.load import load_config

    config = load_config(experiment, overrides, None)
    from mgpo.diagnostics import check

    return check.run(config)


_COMMANDS: dict[str, tuple[Callable[[str, Sequence[str]], str], str]] = {
    "rl": (_rl, "train by reinforcement learning (MGPO)"),
    "sft": (_sft, "train by supervised fine-tuning"),
    "check": (_check, "validate an experiment and show what it resolves to; starts nothing"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USER_ERROR, f"error: {message}; see {self.prog} --help\n")


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mgpo", description="MGPO reinforcement learning on Ray.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (command, summary) in _COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=f"{summary}.")
        sub.add_argument("experiment", metavar="EXPERIMENT.yaml", help="what to run")
        sub.add_argument(
            "overrides",
            metavar="key=value",
            nargs="*",
            default=[],
            help="replaces a value of the experiment, e.g. rollout.group_size=8",
        )
        sub.set_defaults(command=command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
