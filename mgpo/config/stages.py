"""The stages by name: every command that takes an experiment file."""

from mgpo.config.clr import ClrConfig
from mgpo.config.distillation import DistillConfig
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.filters import FilterConfig
from mgpo.config.merge import MergeConfig
from mgpo.config.probe import ProbeConfig
from mgpo.config.script import ScriptConfig
from mgpo.config.stage import StageConfig
from mgpo.config.synthesize import SynthesizeConfig
from mgpo.config.training import RlConfig, SftConfig

AnyConfig = StageConfig | MergeConfig | ScriptConfig

STAGES: dict[str, type[StageConfig] | type[MergeConfig] | type[ScriptConfig]] = {
    "rl": RlConfig,
    "sft": SftConfig,
    "probe": ProbeConfig,
    "merge": MergeConfig,
    "distill": DistillConfig,
    "evaluate": EvaluateConfig,
    "clr": ClrConfig,
    "filter": FilterConfig,
    "synthesize": SynthesizeConfig,
    "script": ScriptConfig,
}
"""Name of a stage, its command and its module below mgpo.stages -> its configuration."""
