"""Claim-level reliability: how many trajectories, claims and repeats, and how claims are asked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.ranges import require_above, require_at_least, require_within
from mgpo.config.sampling import SamplingConfig


@dataclass(frozen=True, kw_only=True)
class ClaimCallConfig:
    """One of the two questions that the model is asked about a trajectory (all values ours)."""

    section: ClassVar[str]
    """Where it stands in an experiment, as messages name it."""
    temperature: float = 1.0
    top_p: float = 0.95
    """Nucleus."""
    top_k: int = -1
    """-1: off."""
    max_completion_tokens: int | None = 8192
    """An answer that reaches it is cut and counted, and nothing is taken from it; None: what the
    context leaves."""
    max_failed_share: float = 0.01
    """Largest share of calls that may end without an answer; such claims and verdicts are missing,
    and counted."""

    def __post_init__(self) -> None:
        require_above(f"{self.section}.temperature", self.temperature, 0)
        require_within(f"{self.section}.top_p", self.top_p, 0, 1)
        if self.top_k != -1:
            require_at_least(f"{self.section}.top_k", self.top_k, 1)
        if self.max_completion_tokens is not None:
            limit = f"{self.section}.max_completion_tokens"
            require_at_least(limit, self.max_completion_tokens, 1)
        require_within(f"{self.section}.max_failed_share", self.max_failed_share, 0, 1)

    def sampling(self) -> SamplingConfig:
        """Return the distribution of its answers, one a call."""
        return SamplingConfig(
            samples_per_prompt=1,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            max_completion_tokens=self.max_completion_tokens,
        )


@dataclass(frozen=True, kw_only=True)
class ExtractionConfig(ClaimCallConfig):
    """The question for the claims and the final answer of a trajectory."""

    section: ClassVar[str] = "extraction"


@dataclass(frozen=True, kw_only=True)
class VerificationConfig(ClaimCallConfig):
    """The question whether a claim holds."""

    section: ClassVar[str] = "verification"


@dataclass(frozen=True, kw_only=True)
class ClrConfig(EvaluateConfig):
    """`mgpo clr`: the answers of claim-level reliability on benchmarks, beside those of votes."""

    # A question is known by its text: other templates or trajectories are other questions.
    fixed_keys: ClassVar[tuple[str, ...]] = (
        *EvaluateConfig.fixed_keys,
        "extraction",
        "verification",
    )
    stage: str = "clr"
    num_trajectories: int = 32
    """K (recipe 6): trajectories that one answer is chosen from."""
    num_claims: int = 5
    """M (recipe 6): claims of a trajectory, and the exponent of its reliability."""
    num_repeats: int = 8
    """How often the whole flow is run, with other seeds; figures are means (recipe 6)."""
    from_samples: str | None = None
    """Folder of a finished `mgpo evaluate` whose samples are the trajectories."""
    templates_dir: str | None = None
    """Folder with extract.txt or verify.txt of the user's, in place of the built-in ones."""
    extraction: ExtractionConfig = field(default_factory=ExtractionConfig)
    verification: VerificationConfig = field(default_factory=VerificationConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least("num_trajectories", self.num_trajectories, 1)
        require_at_least("num_claims", self.num_claims, 1)
        require_at_least("num_repeats", self.num_repeats, 1)
        if self.sampling.samples_per_prompt is not None:
            raise ValueError(
                "sampling.samples_per_prompt is num_trajectories * num_repeats in `mgpo clr`, got "
                f"{self.sampling.samples_per_prompt}: leave it out and set those two"
            )

    @property
    def samples_per_prompt(self) -> int:
        """Trajectories of a problem, those of all repeats."""
        return self.num_trajectories * self.num_repeats

    def benchmark_values(self) -> dict[str, Any]:
        """Return the keys that all benchmarks have of the run."""
        values = super().benchmark_values()
        sampling = {**values.get("sampling", {}), "samples_per_prompt": self.samples_per_prompt}
        return {"sampling": sampling, "pass_at": [], "majority_at": []}

    def data_sources(self) -> dict[str, str]:
        """Return the figures of the evaluation that trajectories come from, if any."""
        if self.from_samples is None:
            return {}
        return {"from_samples": str(Path(self.from_samples) / "results.json")}
