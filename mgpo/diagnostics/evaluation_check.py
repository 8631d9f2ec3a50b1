"""What `mgpo check` says about an evaluation."""

from pathlib import Path

from mgpo.config.clr import ClrConfig
from mgpo.config.evaluate import EvaluateConfig
from mgpo.data.benchmark import load_benchmarks, load_problems
from mgpo.data.claim_prompts import ClaimTemplates
from mgpo.data.inputs import check_rewards
from mgpo.data.sources import is_at_hand


def check_evaluation(config: EvaluateConfig) -> list[str]:
    """Read the problems that are at hand, let their rewards check them, and show one of each.

    Raises ConfigError or DataError.
    """
    if isinstance(config, ClrConfig):
        ClaimTemplates(config.templates_dir)
    parts = []
    for benchmark in load_benchmarks(config):
        title, sampling = benchmark.config.title, benchmark.config.sampling
        if not all(map(_is_here, benchmark.config.sources)):
            parts.append(f"# {title}\nnot looked at: its data is not here yet")
            continue
        rows = load_problems(benchmark, config.max_prompts)
        check_rewards(rows, config.reward)
        parts.append(
            f"# {title}\n{len(rows)} problems x {sampling.samples_per_prompt} samples, reward "
            f"{rows[0].reward}, the first:\n{rows[0].messages[-1]['content']}"
        )
    return parts


def _is_here(source: str) -> bool:
    """Whether a source can be read now: not on the hub only, nor still to be made."""
    return Path(source).exists() or (not Path(source).suffix and is_at_hand(source))
