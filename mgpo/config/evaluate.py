"""Which model is measured, and on which benchmarks."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from mgpo.config.benchmark import SamplingChanges
from mgpo.config.ranges import require_at_least
from mgpo.config.rollout import EngineConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.config.stage import SamplingStageConfig, StageConfig
from mgpo.config.tracking import TrackingConfig
from rewards.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(StageConfig):
    """`mgpo evaluate`: a model on benchmarks."""

    stage: str = "evaluate"
    # What a benchmark is made of is held against the manifest, benchmark by benchmark.
    fixed_keys: ClassVar[tuple[str, ...]] = (
        *("stage", "run.seed", "model", "dtype", "server.model", "rollout.max_model_len"),
        *("reward.options", "reward.correct_threshold"),
    )
    model: str = ""
    """Folder in Hugging Face format, or a hub name; empty: `server` samples."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of the engines."""
    benchmarks: list[str] = MISSING
    """Names of built-in benchmarks (docs/evaluation.md), or YAML files."""
    sampling: SamplingChanges = field(default_factory=SamplingChanges)
    """For all benchmarks in place of their own."""
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Benchmark -> keys of its file -> other values, e.g. changes.aime25.sources=[my.jsonl]."""
    max_prompts: int | None = None
    """Take the first so many problems of each benchmark; None: all."""
    math_judge: bool = False
    """Let a judge model decide beside the rule of the `math` reward (docs/rewards.md)."""
    decontamination_report: str | None = None
    """What `mgpo decontaminate` or `filter` reported about the training data; its hash goes into
    the manifest."""
    server: ServerConfig = field(default_factory=ServerConfig)
    rollout: EngineConfig = field(default_factory=EngineConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)

    def __post_init__(self) -> None:
        if bool(self.model) == self.server.is_given:
            raise ValueError(
                "give either model (a folder or hub name) or server.endpoint with server.model, "
                f"got model={self.model!r} and server.endpoint={self.server.endpoint!r}"
            )
        if not self.benchmarks:
            raise ValueError("benchmarks is empty: name at least one")
        if self.max_prompts is not None:
            require_at_least("max_prompts", self.max_prompts, 1)

    def data_sources(self) -> dict[str, str]:
        """Return the benchmarks' own files and the data that they or `changes` name."""
        sources = {f"benchmarks[{i}]": each for i, each in enumerate(self.benchmarks)}
        sources = {key: path for key, path in sources.items() if Path(path).is_file()}
        named = {key: _sources_of(path) for key, path in sources.items()}
        named |= {
            f"changes.{name}": list(values.get("sources", []))
            for name, values in self.changes.items()
        }
        for key, paths in named.items():
            sources |= {f"{key}.sources[{i}]": path for i, path in enumerate(paths)}
        if self.decontamination_report is not None:
            sources["decontamination_report"] = self.decontamination_report
        return sources

    def benchmark_values(self) -> dict[str, Any]:
        """Return the keys that all benchmarks have of the run, in place of their own."""
        sampling = {key: value for key, value in asdict(self.sampling).items() if value is not None}
        return {"sampling": sampling} if sampling else {}

    def model_sources(self) -> dict[str, str]:
        """Return the model that is evaluated, unless a server has it."""
        return {"model": self.model} if self.model else {}

    def artifacts(self) -> dict[str, Path]:
        """Return the results."""
        return {"results": self.run.path / "results.json"}

    def with_sampling(self, sampling: SamplingConfig) -> SamplingStageConfig:
        """Return what the sampler needs of it."""
        return SamplingStageConfig(
            stage=self.stage,
            run=self.run,
            dtype=self.dtype,
            rollout=self.rollout,
            reward=self.reward,
            sampling=sampling,
        )


def _sources_of(path: str) -> list[str]:
    """Return the data that a benchmark's file names; the file is checked when it is loaded."""
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException):
        return []
    sources = values.get("sources") if isinstance(values, dict) else None
    return [str(each) for each in sources] if isinstance(sources, list) else []
