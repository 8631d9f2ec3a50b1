"""Samples a model and grades what it says, without learning anything. Every finished sample is on
disk, so a run that was cut goes on where it was."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mgpo.cluster import Cluster, Placement, start_cluster
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.model import ModelConfig
from mgpo.config.sampling import SamplingConfig
from mgpo.config.stage import SamplingStageConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.model_files import is_hub_name, read_model_facts
from mgpo.data.rows import Row
from mgpo.rollout.pool import RolloutPool
from mgpo.stages.fleet import find_engine, start_rollouts
from mgpo.stages.generation import generate_missing, is_complete
from mgpo.stages.interruption import Interruption
from mgpo.stages.sample_sources import PoolSource, SampleSource, Wanted
from mgpo.stages.scoring import TRUNCATED, score_request
from mgpo.tracking.sample_store import SampleStore, StoredSample
from mgpo.types import Prompt
from rewards.record import RewardErrorRate
from rewards.self_test import SelfTestFailed
from rewards.service import RewardService, Ticket
from rewards.types import Outcome

_MAX_OPEN_GRADINGS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedTasks:
    """Rows as one model's tokenizer renders them."""

    model: ModelConfig
    encoder: ChatEncoder
    prompts: Sequence[Prompt]
    context: int
    """Longest sequence in tokens."""


def encode_tasks(config: SamplingStageConfig, path: str, rows: Sequence[Row]) -> EncodedTasks:
    """Render rows for a model and hold their lengths against its context; starts nothing.

    Raises ConfigError.
    """
    is_hub_name(path)
    model = ModelConfig(path=path, dtype=config.dtype)
    encoder, facts = ChatEncoder(path), read_model_facts(path)
    limits = (config.rollout.max_model_len, facts.context_tokens)
    context = min((limit for limit in limits if limit is not None), default=None)
    if context is None:
        raise ConfigError(f"{path}: its config names no context; set rollout.max_model_len")
    prompts = [encoder.encode_prompt(row) for row in rows]
    needed = config.sampling.max_completion_tokens or 1
    limit = f"{config.sampling.section}.max_completion_tokens"
    for row, prompt in zip(rows, prompts, strict=True):
        if len(prompt.token_ids) + needed > context:
            raise ConfigError(
                f"{row.where}: a prompt of {len(prompt.token_ids)} tokens and {needed} new ones "
                f"({limit}) exceed the context of {context} tokens; lower {limit} or remove the row"
            )
    return EncodedTasks(model=model, encoder=encoder, prompts=prompts, context=context)


@contextmanager
def open_grading(
    config: SamplingStageConfig, reward_names: Sequence[str]
) -> Iterator[tuple[Cluster, RewardService]]:
    """Start Ray and the reward workers, and test the rewards; a signal ends the block cleanly.

    Raises UserError if a reward fails its self-test.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(start_cluster(config.run.device))
        stack.enter_context(Interruption())
        rewards = stack.enter_context(closing(RewardService(config.reward)))
        try:
            rewards.self_test(reward_names)
        except SelfTestFailed as error:
            raise UserError(str(error)) from error
        yield cluster, rewards


@contextmanager
def open_engines(
    config: SamplingStageConfig, cluster: Cluster, tasks: EncodedTasks
) -> Iterator[RolloutPool]:
    """Load a model into the engines and end them with the block."""
    engine = find_engine(config.rollout, cluster)
    placement = Placement.plan(
        cluster, 0, config.rollout.num_workers, config.rollout.tensor_parallel_size, one_host=False
    )
    with ExitStack() as stack:
        stack.callback(placement.release)
        rollouts = start_rollouts(config.rollout, engine, placement, tasks.encoder, tasks.model)
        stack.callback(rollouts.close)
        rollouts.wait_until_loaded()
        yield rollouts


def sample_all(
    config: SamplingStageConfig,
    cluster: Cluster,
    rewards: RewardService,
    tasks: EncodedTasks,
    path: Path,
    title: str,
) -> list[list[StoredSample]]:
    """Return `sampling.samples_per_prompt` graded samples of each prompt, those on disk included.

    As `sample_into`, with engines that are loaded if a sample is missing, and ended.
    """
    with ExitStack() as stack:

        def open_source() -> SampleSource:
            rollouts = stack.enter_context(open_engines(config, cluster, tasks))
            return PoolSource(rollouts, config.run.seed, tasks.context)

        return sample_into(path, open_source, config.sampling, rewards, tasks.prompts, title)


def sample_into(
    path: Path,
    open_source: Callable[[], SampleSource],
    sampling: SamplingConfig,
    rewards: RewardService,
    prompts: Sequence[Prompt],
    title: str,
) -> list[list[StoredSample]]:
    """Return `samples_per_prompt` graded samples of each prompt, those on disk included.

    `path` is the JSON-lines file that keeps them. The source is opened only if a sample is missing;
    closing it is the caller's. Samples whose grading failed in an earlier launch are graded again.
    Raises UserError when more than `sampling.max_error_share` of them have no verdict.
    """
    count = sampling.samples_per_prompt
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(SampleStore(path)) as store:
        _grade_again(store, rewards, prompts)
        wanted = [Wanted(prompt, index) for prompt in prompts for index in range(count)]
        if not is_complete(store, wanted):
            _fill(store, open_source(), sampling, rewards, wanted, title)
        _refuse_unjudged(store, sampling, path)
        return [store.of_prompt(prompt.id, count) for prompt in prompts]


def _fill(
    store: SampleStore,
    source: SampleSource,
    sampling: SamplingConfig,
    rewards: RewardService,
    wanted: Sequence[Wanted],
    title: str,
) -> None:
    """Sample what the store lacks, grade it, and add it."""
    grader = _Grader(store, rewards)
    try:
        for each, sample in generate_missing(store, source, wanted, sampling, title):
            grader.submit(each.prompt, sample)
    finally:  # what was sampled is kept, also where something fails or a signal comes
        grader.finish()
    num_lost = sum(each.key not in store for each in wanted)
    if num_lost:
        raise UserError(
            f"{title}: {num_lost} of {len(wanted)} samples could not be generated (see the log); "
            "the same command tries them again"
        )


class _Grader:
    """Gradings under way; each goes to the store when it is finished."""

    def __init__(self, store: SampleStore, rewards: RewardService) -> None:
        self._store = store
        self._rewards = rewards
        self._open: deque[tuple[StoredSample, Ticket]] = deque()

    def submit(self, prompt: Prompt, sample: StoredSample) -> None:
        """Grade a sample; a truncated one is wrong, ungraded."""
        if sample.is_truncated:
            self._store.add([sample.graded(TRUNCATED)])
        else:
            ticket = self._rewards.submit([score_request(prompt, sample.text)])
            self._open.append((sample, ticket))
        while self._open and (
            len(self._open) > _MAX_OPEN_GRADINGS or self._rewards.is_finished(self._open[0][1])
        ):
            self._collect()

    def finish(self) -> None:
        """Wait for what is open."""
        while self._open:
            self._collect()

    def _collect(self) -> None:
        sample, ticket = self._open.popleft()
        self._store.add([sample.graded(_collect(self._rewards, ticket))])


def _collect(rewards: RewardService, ticket: Ticket) -> Outcome:
    try:
        return rewards.collect(ticket)[0]
    except (RewardErrorRate, SelfTestFailed) as error:
        raise UserError(str(error)) from error


def _grade_again(store: SampleStore, rewards: RewardService, prompts: Sequence[Prompt]) -> None:
    """Grade the stored samples that have no verdict once more."""
    known = {prompt.id: prompt for prompt in prompts}
    failed = [sample for sample in store.without_verdict() if sample.prompt_id in known]
    tickets = [
        rewards.submit([score_request(known[sample.prompt_id], sample.text)]) for sample in failed
    ]
    for sample, ticket in zip(failed, tickets, strict=True):
        store.add([sample.graded(_collect(rewards, ticket))])


def _refuse_unjudged(store: SampleStore, config: SamplingConfig, path: Path) -> None:
    num_failed = len(store.without_verdict())
    if num_failed > config.max_error_share * len(store):
        raise UserError(
            f"{path}: {num_failed} of {len(store)} samples have no verdict, more than "
            f"{config.section}.max_error_share={config.max_error_share}; their outcome.reason "
            "says why. The same command grades them again"
        )
