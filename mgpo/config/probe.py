"""Which checkpoints are compared, and on what."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from mgpo.config.domains import ProbeDomainConfig, check_domain_names
from mgpo.config.ranges import require_at_least
from mgpo.config.sampling import SamplingConfig
from mgpo.config.stage import SamplingStageConfig


@dataclass(frozen=True, kw_only=True)
class ProbeConfig(SamplingStageConfig):
    """`mgpo probe`: Pass@K of checkpoints on several domains, and a specialist for each."""

    fixed_keys: ClassVar[tuple[str, ...]] = (*SamplingStageConfig.fixed_keys, "domains")
    stage: Literal["probe"] = "probe"
    run_dir: str | None = None
    """Run whose exported models (`checkpoint.export_every`) are compared; or else `models`."""
    checkpoints: list[int] | None = None
    """Steps of `run_dir` to take; None: all that were exported."""
    models: list[str] | None = None
    """Folders in Hugging Face format, the oldest first."""
    domains: dict[str, ProbeDomainConfig] = field(default_factory=dict)
    """Probing set of each domain."""
    k: int = 8
    """K of Pass@K (ours: the report names none)."""
    sampling: SamplingConfig = field(default_factory=lambda: SamplingConfig(samples_per_prompt=16))

    def __post_init__(self) -> None:
        if (self.run_dir is None) == (self.models is None):
            raise ValueError("the checkpoints are named by either run_dir or models: set one")
        if self.checkpoints is not None and self.run_dir is None:
            raise ValueError("checkpoints are steps of a run_dir: set run_dir, or leave them out")
        if self.models is not None:
            require_at_least("the number of models", len(self.models), 1)
            twice = {model for model in self.models if self.models.count(model) > 1}
            if twice:
                raise ValueError(f"models names {', '.join(sorted(twice))} more than once")
        check_domain_names("domains", self.domains)
        for name, domain in self.domains.items():
            if domain.specialists == "subdomain" and domain.split_by is None:
                raise ValueError(f"domains.{name}.specialists=subdomain needs split_by")
        require_at_least("k", self.k, 1)
        if self.sampling.samples_per_prompt < self.k:
            raise ValueError(
                f"sampling.samples_per_prompt must be at least k={self.k}, got "
                f"{self.sampling.samples_per_prompt}: Pass@K is estimated from K samples or more"
            )

    def data_sources(self) -> dict[str, str]:
        """Return the probing sets."""
        return {f"domains.{name}.rows": domain.rows for name, domain in self.domains.items()}

    def model_sources(self) -> dict[str, str]:
        """Return the models by their place in the list or their folder's name; the run itself while
        it has exported none."""
        if self.run_dir is not None:
            exported = sorted((Path(self.run_dir) / "exports").glob("step_*"))
            found = {f"run_dir.{folder.name}": str(folder) for folder in exported}
            return found or {"run_dir": self.run_dir}
        return {f"models.{index}": path for index, path in enumerate(self.models or [])}

    def artifacts(self) -> dict[str, Path]:
        """Return the folder with a link to the specialist of each domain."""
        return {"specialists": self.run.path / "specialists"}
