"""The model under evaluation: engines that load when a sample is missing and serve all benchmarks,
or a server."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from mgpo.cluster import Cluster
from mgpo.config.evaluate import EvaluateConfig
from mgpo.data.benchmark import Benchmark
from mgpo.data.rows import Row
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.sample_sources import PoolSource, SampleSource, ServerSource
from mgpo.stages.sampler import EncodedTasks, encode_tasks, open_engines
from mgpo.types import Prompt


class EvaluatedModel:
    """Prompts as the model reads them, and where its samples come from."""

    def __init__(
        self,
        config: EvaluateConfig,
        benchmarks: Sequence[Benchmark],
        problems: Mapping[str, Sequence[Row]],
    ) -> None:
        """Render every problem and hold its length against the context; nothing starts.

        Raises ConfigError or DataError.
        """
        self.problems = problems
        self._config = config
        self._sampling = {each.name: each.config.sampling for each in benchmarks}
        self._tasks: dict[str, EncodedTasks] = {}
        if not config.server.is_given:
            self._tasks = {
                name: encode_tasks(config.with_sampling(sampling), config.model, problems[name])
                for name, sampling in self._sampling.items()
            }
        self._stack = ExitStack()
        self._cluster: Cluster | None = None
        self._rollouts: RolloutPool | None = None

    def use(self, cluster: Cluster) -> None:
        """Load engines there when they are needed."""
        self._cluster = cluster

    def prompts(self, benchmark: str) -> Sequence[Prompt]:
        """Return the prompts of a benchmark; for a server, which renders them, without tokens."""
        if benchmark in self._tasks:
            return self._tasks[benchmark].prompts
        return [_unrendered(row) for row in self.problems[benchmark]]

    def source(self, benchmark: str) -> SampleSource:
        """Return what samples a benchmark; the engines are loaded once for all."""
        config = self._config
        if config.server.is_given:
            return ServerSource(config.server, config.run.seed)
        tasks = self._tasks[benchmark]
        if self._rollouts is None:
            assert self._cluster is not None, "use() comes first"
            stage = config.with_sampling(self._sampling[benchmark])
            self._rollouts = self._stack.enter_context(open_engines(stage, self._cluster, tasks))
        return PoolSource(self._rollouts, config.run.seed, tasks.context)

    def render(self, benchmark: str, row: Row) -> Prompt | None:
        """Return a further question as the model reads it; None if it fills the context.

        What a server's context is is not known here. Raises DataError.
        """
        tasks = self._tasks.get(benchmark)
        if tasks is None:
            return _unrendered(row)
        prompt = tasks.encoder.encode_prompt(row)
        return prompt if len(prompt.token_ids) < tasks.context else None

    def sampling_facts(self, benchmark: str) -> dict[str, Any]:
        """Return how a benchmark was sampled, as results and tables say it."""
        tasks = self._tasks.get(benchmark)
        return {
            **asdict(self._sampling[benchmark]),
            "seed": self._config.run.seed,
            "engine": "server" if tasks is None else self._config.rollout.engine,
            "context": tasks.context if tasks else None,
        }

    def close(self) -> None:
        """End the engines."""
        self._stack.close()


def _unrendered(row: Row) -> Prompt:
    return Prompt(
        id=row.id,
        messages=row.messages,
        token_ids=(),
        domain=row.domain,
        reward=row.reward,
        reference=row.reference,
        fields=row.fields,
    )
