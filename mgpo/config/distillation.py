"""Which verified traces the student learns from. Formulas: docs/distillation.md."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from omegaconf import MISSING

from mgpo.config.domains import DomainConfig, check_domain_names
from mgpo.config.learner import ForwardConfig
from mgpo.config.ranges import require_above, require_at_least, require_within
from mgpo.config.stage import SamplingStageConfig

_SUM_TOLERANCE = 1e-6
"""How far from 1 the shares may add up: decimals such as 0.1 are not exact in binary."""


@dataclass(frozen=True, kw_only=True)
class SelectionConfig:
    """Selection by learning potential inside buckets of domain and length (values: ours)."""

    min_tokens: int = 64
    """Traces with fewer response tokens are dropped."""
    short_percentile: float = 1.0
    """So are those shorter than this percentile of their domain."""
    length_buckets: int = 8
    """Quantiles of length that a domain is divided by."""
    min_bucket_traces: int = 4
    """A bucket with fewer traces is joined to its neighbour; a domain with fewer keeps them all."""
    outlier_percentile: float = 99.0
    """Traces with a score above this percentile of their bucket are dropped."""
    kept_share: float = 0.5
    """Share of the rest that is kept in each bucket, highest scores first, rounded up."""
    mix: dict[str, float] | None = None
    """Share of each domain among the traces kept, with the sum 1; None: as they come."""

    def __post_init__(self) -> None:
        for key in ("min_tokens", "length_buckets", "min_bucket_traces"):
            require_at_least(f"selection.{key}", getattr(self, key), 1)
        for key in ("short_percentile", "outlier_percentile"):
            require_within(f"selection.{key}", getattr(self, key), 0, 100)
        require_above("selection.kept_share", self.kept_share, 0)
        require_within("selection.kept_share", self.kept_share, 0, 1)
        for domain, share in (self.mix or {}).items():
            require_within(f"selection.mix.{domain}", share, 0, 1)
        if self.mix is not None:
            total = math.fsum(self.mix.values())
            if not abs(total - 1) <= _SUM_TOLERANCE:
                raise ValueError(f"selection.mix must add up to 1, got the sum {total:.9g}")


@dataclass(frozen=True, kw_only=True)
class DistillConfig(SamplingStageConfig):
    """`mgpo distill`: verified traces of several checkpoints, chosen for one student."""

    fixed_keys: ClassVar[tuple[str, ...]] = (
        *SamplingStageConfig.fixed_keys,
        "domains",
        "teachers",
        "student",
        "temperature",
    )
    stage: Literal["distill"] = "distill"
    domains: dict[str, DomainConfig] = field(default_factory=dict)
    """Rows of each domain."""
    teachers: dict[str, str] = field(default_factory=dict)
    """Domain -> folder of the checkpoint that is sampled on its rows."""
    student: str = MISSING
    """Folder of the model that will be trained on the traces, and scores them."""
    temperature: float = 1.0
    """Of the student's distribution, as it will be trained."""
    learner: ForwardConfig = field(default_factory=ForwardConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)

    def __post_init__(self) -> None:
        check_domain_names("domains", self.domains)
        for section in ("teachers", "selection.mix"):
            named = self.teachers if section == "teachers" else self.selection.mix
            if named is not None and named.keys() != self.domains.keys():
                raise ValueError(
                    f"{section} must name the domains {sorted(self.domains)}, got {sorted(named)}"
                )
        require_above("temperature", self.temperature, 0)

    def data_sources(self) -> dict[str, str]:
        """Return the rows of each domain."""
        return {f"domains.{name}.rows": domain.rows for name, domain in self.domains.items()}

    def model_sources(self) -> dict[str, str]:
        """Return teachers and student."""
        teachers = {f"teachers.{domain}": path for domain, path in self.teachers.items()}
        return {**teachers, "student": self.student}

    def artifacts(self) -> dict[str, Path]:
        """Return the rows to train the student on."""
        return {"data": self.run.path / "sft.jsonl"}
