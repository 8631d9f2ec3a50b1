"""Scores of traces under the student, in the learner's packed forward passes; nothing is learnt."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from mgpo.cluster import Cluster, Placement
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.distillation import DistillConfig
from mgpo.config.errors import ConfigError, UserError
from mgpo.config.learner import LearnerConfig
from mgpo.config.model import ModelConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.model_files import read_model_facts
from mgpo.data.rows import Row
from mgpo.data.saved_models import check_model_folder
from mgpo.learner.pool import LearnerPool
from mgpo.learner.rows import TrainingRow
from mgpo.learner.setup import LearnerSetup
from mgpo.stages.traces import Trace, cut_chunks, encode_trace
from mgpo.tracking.sample_store import SampleKey
from mgpo.tracking.score_store import ScoreStore

logger = logging.getLogger(__name__)

_MICROBATCHES_PER_CHUNK = 4
"""Of each rank; a run that is cut loses one chunk at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Student:
    """What is known of the student before any weight is loaded."""

    encoder: ChatEncoder
    context: int | None
    """Longest sequence in tokens; None: its config names none."""


def read_student(config: DistillConfig, rows: Sequence[Row]) -> Student:
    """Check the student's folder, and that its template takes every prompt.

    Raises ConfigError or DataError.
    """
    check_model_folder("student", config.student)
    encoder, facts = ChatEncoder(config.student), read_model_facts(config.student)
    if encoder.vocab_size > facts.vocab_size:
        raise ConfigError(
            f"student {config.student}: the tokenizer has {encoder.vocab_size} ids, but the model "
            f"embeds only {facts.vocab_size}; they do not belong together"
        )
    for row in rows:
        encoder.encode_prompt(row)
    return Student(encoder=encoder, context=facts.context_tokens)


def score_traces(
    config: DistillConfig,
    cluster: Cluster,
    student: Student,
    traces: Sequence[Trace],
    path: Path,
) -> Mapping[SampleKey, float]:
    """Return S_LP of each trace, those on disk included.

    `path` is the JSON-lines file that keeps them. The student is loaded only if a score is missing.
    A chunk that lacks a score is computed whole, so that the forward passes are those of a run that
    was not cut. Raises UserError.
    """
    budget = config.learner.max_tokens_per_microbatch
    _check_budget(traces, budget)
    size = budget * config.learner.num_ranks * _MICROBATCHES_PER_CHUNK
    path.parent.mkdir(exist_ok=True)
    with closing(ScoreStore(path)) as store:
        todo = [
            chunk
            for chunk in cut_chunks(traces, size)
            if any(trace.score_key not in store for trace in chunk)
        ]
        if todo:
            with _open_learner(config, cluster, student) as learner:
                _fill(store, student, learner, todo)
        return {trace.key: store[trace.score_key] for trace in traces}


def _check_budget(traces: Sequence[Trace], budget: int) -> None:
    longest = max(traces, key=lambda trace: trace.num_all_tokens)
    if longest.num_all_tokens > budget:
        raise ConfigError(
            f"learner.max_tokens_per_microbatch={budget} is too small: sample {longest.key[1]} of "
            f"{longest.key[0]} has {longest.num_all_tokens} tokens with its prompt; raise it to at "
            "least that (no sample is lost)"
        )


@contextmanager
def _open_learner(
    config: DistillConfig, cluster: Cluster, student: Student
) -> Iterator[LearnerPool]:
    """Load the student into the ranks and end them with the block."""
    placement = Placement.plan(cluster, config.learner.num_ranks, 0, one_host=False)
    setup = LearnerSetup(
        learner=LearnerConfig(**asdict(config.learner)),
        algorithm=AlgorithmConfig(),
        model_source=ModelConfig(path=config.student).source,
        dtype=config.dtype,
        vocab_size=student.encoder.vocab_size,
        temperature=config.temperature,
        device=placement.device,
        shares_device=False,
        num_threads=placement.learner_threads,
    )
    with ExitStack() as stack:
        stack.callback(placement.release)
        learner = LearnerPool(setup, 1, placement.learner_options)
        stack.callback(learner.close)
        learner.wait_until_loaded()
        yield learner


def _fill(
    store: ScoreStore, student: Student, learner: LearnerPool, chunks: Sequence[Sequence[Trace]]
) -> None:
    bar = tqdm(total=sum(map(len, chunks)), desc="scoring", unit="trace", disable=None)
    with closing(bar):
        for chunk in chunks:
            scores = learner.learning_potentials([_row(student, trace) for trace in chunk])
            for trace, score in zip(chunk, scores, strict=True):
                if not math.isfinite(score):
                    raise UserError(
                        f"the student's log-probabilities of sample {trace.key[1]} of "
                        f"{trace.key[0]} are not finite (score {score}); look at its weights, or "
                        "use dtype=float32"
                    )
            store.add({trace.score_key: score for trace, score in zip(chunk, scores, strict=True)})
            bar.update(len(chunk))
            logger.info("scored %d traces", len(chunk))


def _row(student: Student, trace: Trace) -> TrainingRow:
    example = encode_trace(student.encoder, trace.row, trace.sample.text)
    return TrainingRow(token_ids=example.token_ids, prompt_len=example.prompt_len)
