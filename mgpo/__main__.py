"""`mgpo` = `python -m mgpo`: parses first, imports the stage after.

Exit codes: 0 done; 2 the user's input is wrong (one line); 130 interrupted, state saved; anything
else is a fault of ours and ends with its traceback and exit code 1.
"""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mgpo.config.errors import Interrupted, StageFailed, UserError

EXIT_DONE, EXIT_USER_ERROR, EXIT_INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = _parse(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # As `python -m` does, also for the installed command: a user's reward may lie right here.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        print(args.run(args))
    except UserError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_USER_ERROR
    except StageFailed as error:
        print(f"error: {error}; the same command goes on there", file=sys.stderr)
        return error.exit_code
    except Interrupted as error:
        print(f"{error}; what was done is saved: the same command continues", file=sys.stderr)
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        print("interrupted: stopped by the user without saving", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_DONE


def _stage(args: argparse.Namespace) -> str:
    """Run the stage that the command names; each is a module below mgpo.stages."""
    from mgpo.config.load import load_config

    config = load_config(args.experiment, args.overrides, args.stage)
    stage = importlib.import_module(f"mgpo.stages.{args.stage}")
    return str(stage.run(config))


def _pipeline(args: argparse.Namespace) -> str:
    from mgpo.stages import pipeline

    return pipeline.run(
        args.folder, args.overrides, first=args.first, last=args.last, redo=args.redo
    )


def _evaluate(args: argparse.Namespace) -> str:
    if args.compare:
        from mgpo.stages import evaluation_compare

        return evaluation_compare.run(*args.compare)
    if args.verify:
        from mgpo.stages import evaluation_verify

        return evaluation_verify.run(args.verify)
    if args.experiment is None:
        raise UserError("evaluate needs EXPERIMENT.yaml, --compare RUN_A RUN_B or --verify DIR")
    return _stage(args)


def _solve(args: argparse.Namespace) -> str:
    from mgpo.stages import solve

    return solve.run(args.model, args.problem, args.samples, args.claims, args.overrides)


def _check(args: argparse.Namespace) -> str:
    from mgpo.config.load import load_config

    folder = Path(args.experiment)
    config = None if folder.is_dir() else load_config(folder, args.overrides, None)
    from mgpo.diagnostics import check

    machine = check.Machine(gpu_gib=args.gpu_gib, model_config=args.model_config)
    if config is None:
        return check.run_pipeline(folder, args.overrides, machine)
    return check.run(config, machine)


def _score(args: argparse.Namespace) -> str:
    from mgpo.stages import score

    return score.run(args.reward, args.input, args.output, args.workers, args.set)


def _decontaminate(args: argparse.Namespace) -> str:
    from mgpo.stages import decontaminate

    report = args.report or args.output.with_name(f"{args.output.name}.report.jsonl")
    return decontaminate.run(
        args.train, args.against, args.output, report, args.fields, ngram=args.ngram
    )


_STAGES = {
    "rl": "train by reinforcement learning (MGPO)",
    "sft": "train by supervised fine-tuning",
    "clr": "choose answers on benchmarks by claim-level reliability, beside votes",
    "probe": "compare checkpoints by Pass@K and choose a specialist for each domain",
    "merge": "average the weights of models of one architecture",
    "filter": "keep the rows that are good enough to train on",
    "synthesize": "make new prompts and worked answers from seeds, with models",
    "distill": "choose verified traces of several checkpoints for one student",
    "script": "run a program of your own as a step of a pipeline",
}


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; key=value may stand before options and after them."""
    parser = _make_parser()
    args, rest = parser.parse_known_args(argv)
    if rest and (not hasattr(args, "overrides") or any(text.startswith("-") for text in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        args.overrides = [*args.overrides, *rest]
    return args


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USER_ERROR, f"error: {message}; see {self.prog} --help\n")


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mgpo", description="MGPO reinforcement learning on Ray.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for stage, summary in _STAGES.items():
        _add_experiment(commands, stage, summary).set_defaults(run=_stage, stage=stage)
    _add_evaluate(commands)
    _add_solve(commands)
    summary = "validate an experiment and show what it resolves to; starts nothing"
    sub = _add_experiment(commands, "check", summary)
    sub.add_argument("--gpu-gib", type=float, default=80.0, help="memory of a GPU, to plan with")
    sub.add_argument(
        "--model-config",
        type=Path,
        metavar="CONFIG.json",
        help="sizes of a model that is not at hand, to plan memory with",
    )
    sub.set_defaults(run=_check)
    _add_pipeline(commands)
    _add_score(commands)
    _add_decontaminate(commands)
    return parser


def _add_experiment(
    commands: "argparse._SubParsersAction[_Parser]",
    name: str,
    summary: str,
    *,
    is_needed: bool = True,
) -> _Parser:
    sub = commands.add_parser(name, help=summary, description=f"{summary}.")
    sub.add_argument(
        "experiment",
        metavar="EXPERIMENT.yaml",
        nargs=None if is_needed else "?",
        help="what to run",
    )
    sub.add_argument(
        "overrides",
        metavar="key=value",
        nargs="*",
        default=[],
        help="replaces a value of the experiment, e.g. run.seed=1",
    )
    return sub


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    summary = "measure a model on benchmarks, compare two results, or check one"
    sub = _add_experiment(commands, "evaluate", summary, is_needed=False)
    sub.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("RUN_A", "RUN_B"),
        help="the paired difference of two finished evaluations",
    )
    sub.add_argument(
        "--verify", type=Path, metavar="DIR", help="grade the samples of a result again"
    )
    sub.set_defaults(run=_evaluate, stage="evaluate")


def _add_solve(commands: "argparse._SubParsersAction[_Parser]") -> None:
    summary = "answer one problem by claim-level reliability, and show why"
    sub = commands.add_parser("solve", help=summary, description=f"{summary}.")
    sub.add_argument("--model", required=True, help="folder in Hugging Face format, or a hub name")
    sub.add_argument("problem", metavar="PROBLEM", help="the problem in words")
    sub.add_argument("--samples", type=int, default=32, metavar="K", help="trajectories")
    sub.add_argument("--claims", type=int, default=5, metavar="M", help="claims of a trajectory")
    sub.add_argument(
        "overrides",
        metavar="key=value",
        nargs="*",
        default=[],
        help="a key of `mgpo clr`, e.g. sampling.max_completion_tokens=8192",
    )
    sub.set_defaults(run=_solve)


def _add_pipeline(commands: "argparse._SubParsersAction[_Parser]") -> None:
    summary = "run the numbered experiments of a folder in order, and skip what is done"
    sub = commands.add_parser("pipeline", help=summary, description=f"{summary}.")
    sub.add_argument("folder", metavar="FOLDER", type=Path, help="holds 01_NAME.yaml, ...")
    sub.add_argument(
        "overrides",
        metavar="key=value",
        nargs="*",
        default=[],
        help="replaces a value in every step that has the key",
    )
    sub.add_argument("--from", dest="first", metavar="STEP", help="first step (number or name)")
    sub.add_argument("--until", dest="last", metavar="STEP", help="last step")
    sub.add_argument("--redo", metavar="STEP", help="do a step, and what follows from it, again")
    sub.set_defaults(run=_pipeline)


def _add_score(commands: "argparse._SubParsersAction[_Parser]") -> None:
    summary = "grade given responses offline, as training would"
    sub = commands.add_parser("score", help=summary, description=f"{summary}.")
    sub.add_argument("--reward", required=True, help="name, entry point or dotted path")
    sub.add_argument("--input", required=True, help="rows with response and reference")
    sub.add_argument("--output", required=True, type=Path, help="JSONL, one row per row")
    sub.add_argument("--workers", type=int, default=os.cpu_count(), help="grading processes")
    sub.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="key=value",
        help="options of the reward, for rows that have none of that name",
    )
    sub.set_defaults(run=_score)


def _add_decontaminate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    summary = "drop training rows that share words with evaluation sets"
    sub = commands.add_parser("decontaminate", help=summary, description=f"{summary}.")
    sub.add_argument("--train", nargs="+", required=True, help="rows with prompt and response")
    sub.add_argument("--against", nargs="+", required=True, help="evaluation sets")
    sub.add_argument("--output", required=True, type=Path, help="JSONL, the rows that are kept")
    sub.add_argument("--report", type=Path, help="every drop; default: OUTPUT.report.jsonl")
    sub.add_argument("--ngram", type=int, default=10, help="words in a row that may not be shared")
    sub.add_argument(
        "--fields",
        nargs="+",
        default=[],
        help="where evaluation sets have their text; default: the usual names",
    )
    sub.set_defaults(run=_decontaminate)


if __name__ == "__main__":
    sys.exit(main())
