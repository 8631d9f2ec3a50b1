"""Which models are merged, and how much each counts."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omegaconf import MISSING

from mgpo.config.ranges import require_at_least

_SUM_TOLERANCE = 1e-6
"""How far from 1 the weights may add up: decimals such as 0.1 are not exact in binary."""


@dataclass(frozen=True, kw_only=True)
class MergeConfig:
    """`mgpo merge`: the weighted mean of models with one architecture and one tokenizer."""

    stage: Literal["merge"] = "merge"
    models: list[str] = MISSING
    """Folders in Hugging Face format; configuration and tokenizer are taken from the first. One
    may be named several times: a checkpoint may be the specialist of several domains."""
    weights: list[float] | None = None
    """One per model, at least 0, with the sum 1; None: 1/N each (the report)."""
    output: str = MISSING
    """Folder that the merged model is written to; must not exist yet."""

    def __post_init__(self) -> None:
        require_at_least("the number of models", len(self.models), 1)
        if self.weights is None:
            return
        if len(self.weights) != len(self.models):
            raise ValueError(
                f"weights must be one per model ({len(self.models)}), got {len(self.weights)}"
            )
        for index, weight in enumerate(self.weights):
            require_at_least(f"weights[{index}]", weight, 0)
        total = math.fsum(self.weights)
        if not abs(total - 1) <= _SUM_TOLERANCE:
            raise ValueError(
                f"weights must add up to 1, got {self.weights} with the sum {total:.9g}; "
                "without weights each model counts 1/N"
            )

    def data_sources(self) -> dict[str, str]:
        """Return the data that is read: none."""
        return {}

    def model_sources(self) -> dict[str, str]:
        """Return the models that are read, by the key that names each."""
        return {f"models[{index}]": model for index, model in enumerate(self.models)}

    def artifacts(self) -> dict[str, Path]:
        """Return the merged model."""
        return {"model": Path(self.output).resolve()}

    @property
    def shares(self) -> list[float]:
        """The weight of each model."""
        return self.weights or [1 / len(self.models)] * len(self.models)

    @property
    def folders(self) -> list[Path]:
        """The models' folders."""
        return [Path(model) for model in self.models]
