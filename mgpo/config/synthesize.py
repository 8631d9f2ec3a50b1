"""How `mgpo synthesize` turns seeds into new prompts with labels (docs/synthesize.md)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from mgpo.config.filters import SourcesConfig
from mgpo.config.ranges import require_at_least, require_within
from mgpo.config.rollout import EngineConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.config.stage import StageConfig
from rewards.config import RewardConfig

AXES = ("concept_composition", "solution_skeleton", "constraints", "objective")
"""Along which a query is rewritten (report, SFT); each has a template of its name."""


@dataclass(frozen=True, kw_only=True)
class PricedServerConfig(ServerConfig):
    """A server and what it charges."""

    input_price: float = 0.0
    """Per million prompt tokens, in any currency."""
    output_price: float = 0.0
    """Per million completion tokens, in the same currency."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least("server.input_price", self.input_price, 0)
        require_at_least("server.output_price", self.output_price, 0)


@dataclass(frozen=True, kw_only=True)
class RoleConfig(SamplingConfig):
    """One of the three parts a model plays."""

    server: PricedServerConfig | None = None
    """In place of the top-level `server` or `model`."""
    max_failed_share: float = 0.01
    """Largest share of calls that may fail; what they were for is dropped and counted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_within(f"{self.section}.max_failed_share", self.max_failed_share, 0, 1)


@dataclass(frozen=True, kw_only=True)
class ExpansionConfig(RoleConfig):
    """The writer of new queries."""

    section: ClassVar[str] = "expansion"
    axes: list[str] = field(default_factory=lambda: list(AXES))
    """Which rewritings; each is asked for each seed."""
    samples_per_prompt: int = 1
    """New queries per seed and axis."""
    max_completion_tokens: int | None = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [axis for axis in self.axes if axis not in AXES]
        if unknown or len(set(self.axes)) != len(self.axes) or not self.axes:
            raise ValueError(
                f"expansion.axes must name some of {', '.join(AXES)}, each once, "
                f"got {list(self.axes)}"
            )


@dataclass(frozen=True, kw_only=True)
class JudgingConfig(RoleConfig):
    """The judge of new queries: complete, reasonable, valid, able to test the point."""

    section: ClassVar[str] = "judging"
    samples_per_prompt: int = 1
    """Verdicts per query; a query is kept if all of them approve of it."""
    max_completion_tokens: int | None = 4096


@dataclass(frozen=True, kw_only=True)
class TeachingConfig(RoleConfig):
    """The teacher, whose answers are put to the vote."""

    section: ClassVar[str] = "teaching"
    samples_per_prompt: int = 8
    """Traces per query."""
    min_agreement: float = 0.5
    """Smallest share of a query's traces whose answer is the majority's (ours)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least("teaching.samples_per_prompt", self.samples_per_prompt, 2)
        require_within("teaching.min_agreement", self.min_agreement, 0, 1)


@dataclass(frozen=True, kw_only=True)
class SynthesizeConfig(StageConfig):
    """`mgpo synthesize`: new prompts from seeds, judged, answered, and labelled by vote."""

    # Calls are kept under a hash of what was asked, so all else may change.
    fixed_keys: ClassVar[tuple[str, ...]] = ("stage",)
    stage: Literal["synthesize"] = "synthesize"
    data: SourcesConfig = field(default_factory=SourcesConfig)
    """The seeds: rows with a reference that can be relied on."""
    model: str | None = None
    """Folder or hub name of a model for engines of our own, where no server is given."""
    server: PricedServerConfig = field(default_factory=PricedServerConfig)
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Compute type of the engines."""
    rollout: EngineConfig = field(default_factory=EngineConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    expansion: ExpansionConfig = field(default_factory=ExpansionConfig)
    judging: JudgingConfig = field(default_factory=JudgingConfig)
    teaching: TeachingConfig = field(default_factory=TeachingConfig)
    templates_dir: str | None = None
    """Folder with templates of the user's, each in place of the built-in one of its name."""
    wants_schemas: bool = True
    """Ask servers to hold answers to their JSON schema; false for servers that cannot."""
    budget: float | None = None
    """What all calls of the run may cost; what is under way when it is reached still finishes.
    None: no limit."""

    def __post_init__(self) -> None:
        if self.budget is not None:
            require_at_least("budget", self.budget, 0)
        for role in self.roles:
            has_server = self.server_of(role) is not None
            if not has_server and self.model is None:
                raise ValueError(
                    f"{role.section} has no model: set server.endpoint and server.model, "
                    f"{role.section}.server, or model for an engine of our own"
                )

    @property
    def roles(self) -> tuple[RoleConfig, ...]:
        """The parts that models play."""
        return self.expansion, self.judging, self.teaching

    def server_of(self, role: RoleConfig) -> PricedServerConfig | None:
        """Return the server that plays a part; None: an engine of our own."""
        server = role.server or self.server
        return server if server.is_given else None

    def model_of(self, role: RoleConfig) -> str:
        """Return the name of the model that plays a part."""
        server = self.server_of(role)
        return server.model if server is not None else self.model or ""

    def data_sources(self) -> dict[str, str]:
        """Return the seeds."""
        return {f"data.sources[{i}]": source for i, source in enumerate(self.data.sources)}

    def model_sources(self) -> dict[str, str]:
        """Return the model of the engines."""
        return {"model": self.model} if self.model is not None else {}

    def artifacts(self) -> dict[str, Path]:
        """Return the worked rows, and the prompts by themselves."""
        return {name: self.run.path / f"{name}.jsonl" for name in ("rows", "prompts")}
