"""`mgpo solve`: one answer to one problem by claim-level reliability, and why it was chosen."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.clr import ClrConfig
from mgpo.config.load import Layer, parse_override, resolve_layers
from mgpo.data.benchmark import TEMPLATES_DIR, Benchmark, load_template
from mgpo.data.claim_prompts import ClaimTemplates
from mgpo.data.rows import Row
from mgpo.stages.claims.table import solution_text
from mgpo.stages.clr import ClrRun
from mgpo.stages.evaluation_model import EvaluatedModel
from mgpo.stages.sampler import open_grading
from mgpo.tracking.result_files import ResultFiles

_NAME = "problem"
_TEMPLATE = "boxed.txt"
_ANY_REFERENCE = "0"
"""The verdict on it is not shown; the reward is asked for the answers it finds."""


def run(
    model: str, problem: str, num_trajectories: int, num_claims: int, overrides: Sequence[str]
) -> str:
    """Return the answer with its clusters, claims and reliability. Raises UserError.

    The problem is asked as the built-in benchmarks of mathematics are; `overrides` are keys of
    `mgpo clr`. What is sampled is not kept.
    """
    with tempfile.TemporaryDirectory(prefix="mgpo-solve-") as folder:
        config = _config(model, num_trajectories, num_claims, overrides, folder)
        benchmark, row = _as_benchmark(problem, config)
        evaluated = EvaluatedModel(config, [benchmark], {_NAME: [row]})
        this = ClrRun(
            config=config,
            templates=ClaimTemplates(config.templates_dir),
            model=evaluated,
            stored=None,
            files=ResultFiles(Path(folder)),
        )
        stage = config.with_sampling(benchmark.config.sampling)
        with open_grading(stage, ["math"]) as (cluster, rewards), closing(evaluated):
            evaluated.use(cluster)
            [answers] = this.answers(benchmark, rewards)
        return solution_text(answers, config.num_claims)


def _config(
    model: str, num_trajectories: int, num_claims: int, overrides: Sequence[str], folder: str
) -> ClrConfig:
    own = {
        "stage": "clr",
        "run": {"name": _NAME, "dir": folder},
        "model": model,
        "benchmarks": [_NAME],
        "num_trajectories": num_trajectories,
        "num_claims": num_claims,
        "num_repeats": 1,
    }
    layers: list[Layer] = [("--model, --samples or --claims", own), *map(parse_override, overrides)]
    return resolve_layers(layers, ClrConfig, Path("the command line"))


def _as_benchmark(problem: str, config: ClrConfig) -> tuple[Benchmark, Row]:
    values = {**config.benchmark_values(), "title": "Problem", "template": _TEMPLATE}
    settings = resolve_layers([("sampling", values)], BenchmarkConfig, Path("the command line"))
    template = load_template(_TEMPLATE, TEMPLATES_DIR)
    benchmark = Benchmark(name=_NAME, config=settings, template=template)
    row = Row(
        id=_NAME,
        messages=({"role": "user", "content": template.replace("{prompt}", problem)},),
        domain="math",
        reward="math",
        reference=_ANY_REFERENCE,
        fields={},
        where="the problem",
    )
    return benchmark, row
