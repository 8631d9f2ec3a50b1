"""What a learner rank is told at its start; imports nothing heavy, so that the driver can build
it."""

from dataclasses import dataclass, field

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.model import RopeConfig


@dataclass(frozen=True, kw_only=True)
class LearnerSetup:
    """Sub-configs and facts of the run that every rank needs."""

    learner: LearnerConfig
    algorithm: AlgorithmConfig
    model_source: str
    """Absolute folder or hub name."""
    dtype: str
    """Compute type; the masters are float32."""
    vocab_size: int
    """Ids from here on can't be sampled or trained on."""
    temperature: float
    """Of the distribution that is sampled and trained."""
    device: str
    shares_device: bool
    """Give unused GPU memory back after each call."""
    num_threads: int
    """Threads of one rank on a CPU."""
    rope: RopeConfig = field(default_factory=RopeConfig)
    """Of the model, as it is read and written."""
