"""Which runs answer which question, in the order in which they are made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = Path("runs/ablations")
GAMMAS = ("0", "0.5", "1", "2", "4")
LENGTHS = {"off": "length_reward.lambda_=0", "on": "length_reward.lambda_=0.2"}
MERGED = {
    "single": "runs/tiny_pipeline/sft_broad/final",
    "merged": "runs/tiny_pipeline/merge_broad",
}
QUESTIONS = ("gamma", "length", "merge")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of `mgpo`."""

    question: str
    value: str
    """What is varied, as in the tables."""
    seed: int
    stage: str
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder below `RUNS`."""
        return f"{self.question}_{self.value}_seed{self.seed}"

    @property
    def folder(self) -> Path:
        """Where the run writes."""
        return RUNS / self.name

    @property
    def is_done(self) -> bool:
        """Whether what a finished run leaves is there."""
        results = {"rl": "final", "evaluate": "results.json"}
        return (self.folder / results[self.stage]).exists()

    def command(self) -> list[str]:
        """Arguments of `mgpo`."""
        experiment = HERE / f"{self.question}.yaml"
        return [
            self.stage,
            str(experiment),
            f"run.name={self.name}",
            f"run.seed={self.seed}",
            *self.overrides,
        ]


def runs_of(question: str, seeds: Sequence[int]) -> Iterator[Run]:
    """Yield the runs of a question, all values of a seed before the next seed."""
    for seed in seeds:
        for value, override in _values(question).items():
            yield Run(
                question=question,
                value=value,
                seed=seed,
                stage="evaluate" if question == "merge" else "rl",
                overrides=(override,),
            )


def _values(question: str) -> dict[str, str]:
    if question == "gamma":
        return {gamma: f"algorithm.gamma={gamma}" for gamma in GAMMAS}
    if question == "length":
        return LENGTHS
    return {value: f"model={model}" for value, model in MERGED.items()}
