"""All learner ranks behind synchronous calls: batches in, metrics out."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from mgpo.algorithm.learning_potential import learning_potential
from mgpo.algorithm.policy_loss import batch_denominator
from mgpo.algorithm.reductions import Mean, Reductions, Sum, merge_all
from mgpo.cluster import ActorOptions
from mgpo.data.packing import plan_microbatches
from mgpo.learner.rows import TrainingRow
from mgpo.learner.schedule import learning_rate
from mgpo.learner.setup import LearnerSetup
from mgpo.tracking.code_version import refuse_other_code
from mgpo.weight_sync.types import NativeTransfer, WeightManifest

if TYPE_CHECKING:
    from mgpo.learner.optimizer import UpdateReport

logger = logging.getLogger(__name__)


class LearnerPool:
    """Plans micro-batches over the ranks and runs every call on all of them at once.

    A rank that dies takes the run with it (its shard is gone): the error says so, and the next
    start resumes from the newest checkpoint.
    """

    def __init__(
        self, setup: LearnerSetup, total_updates: int, options: Sequence[ActorOptions]
    ) -> None:
        from mgpo.learner.worker import LearnerWorker

        self._config = setup.learner
        self._algorithm = setup.algorithm
        self._total_updates = total_updates
        actor = ray.remote(LearnerWorker)
        self._ranks: list[Any] = [
            actor.options(**rank_options).remote(setup) for rank_options in options
        ]
        self._versions = [rank.code_version.remote() for rank in self._ranks]
        address = self._ranks[0].address.remote()
        self._loading = [
            rank.start.remote(index, len(self._ranks), address)
            for index, rank in enumerate(self._ranks)
        ]

    def wait_until_loaded(self) -> None:
        """Wait for the model to be loaded, which began when this object was made.

        Raises UserError if a rank runs other code than the driver.
        """
        if not self._loading:
            return
        refuse_other_code("learner ranks", self._wait("the ranks to start", self._versions))
        num_parameters = self._wait("the model to load", self._loading)[0]
        self._loading = []
        logger.info("learner: %d ranks, %s parameters", len(self._ranks), f"{num_parameters:,}")

    def update(
        self, batch: Sequence[Sequence[TrainingRow]], *, objective: str, first_update: int
    ) -> dict[str, float]:
        """Make `updates_per_batch` optimizer updates from one batch and return their metrics.

        `batch` holds the rows of each prompt; `first_update` is the number of updates made before,
        from which the learning rate follows.
        """
        started = time.monotonic()
        num_updates = self._config.updates_per_batch
        if num_updates > 1 and objective == "policy":
            batch = self._with_old_logprobs(batch)
        parts, reports = [], []
        num_empty = 0
        for index in range(num_updates):
            rows = [row for group in batch[index::num_updates] for row in group]
            if not rows:  # Adam would move the weights by its momentum alone
                logger.warning("an update has no samples: skipped")
                num_empty += 1
                continue
            lr = learning_rate(self._config, first_update + index, self._total_updates)
            report, reductions = self._update_once(rows, objective, lr)
            reports.append(report)
            parts.append(reductions)
        taken = [row for group in batch for row in group]
        num_tokens = sum(len(row.token_ids) for row in taken)
        return {
            **{key: reduction.value for key, reduction in merge_all(parts).items()},
            **_metrics_of_updates(reports),
            "learner/skipped_updates": num_empty + sum(report.is_skipped for report in reports),
            "learner/rss_mib": max(self._all("rss_mib")),
            "learner/samples": len(taken),
            "learner/tokens": num_tokens,
            "learner/trained_tokens": sum(row.num_trained_tokens for row in taken),
            "learner/tokens_per_s": num_tokens / (time.monotonic() - started),
        }

    def _update_once(
        self, rows: Sequence[TrainingRow], objective: str, lr: float
    ) -> "tuple[UpdateReport, Reductions]":
        plan = self._plan(rows)
        denominator = batch_denominator([row.num_trained_tokens for row in rows], self._algorithm)
        calls = [
            rank.update.remote(self._select(rows, microbatches), objective, denominator, lr)
            for rank, microbatches in zip(self._ranks, plan, strict=True)
        ]
        results = self._wait("an update", calls)
        merged = merge_all([reductions for _, reductions in results])
        # A sum over one update becomes one term of the mean over updates.
        return results[0][0], {
            key: Mean(reduction.total, 1) if isinstance(reduction, Sum) else reduction
            for key, reduction in merged.items()
        }

    def _with_old_logprobs(self, batch: Sequence[Sequence[TrainingRow]]) -> list[list[TrainingRow]]:
        old = iter(self.logprobs([row for group in batch for row in group]))
        return [[replace(row, old_logprobs=tuple(next(old))) for row in group] for group in batch]

    def logprobs(self, rows: Sequence[TrainingRow]) -> list[list[float]]:
        """Return the current log-probabilities of each row's trained tokens, in the rows' order."""
        plan = self._plan(rows)
        calls = [
            rank.logprobs.remote(self._select(rows, microbatches))
            for rank, microbatches in zip(self._ranks, plan, strict=True)
        ]
        results = self._wait("log-probabilities", calls)
        by_row: dict[int, list[float]] = {}
        for microbatches, values in zip(plan, results, strict=True):
            for indices, parts in zip(microbatches, values, strict=True):
                by_row.update(zip(indices, parts, strict=True))
        return [by_row[index] for index in range(len(rows))]

    def learning_potentials(self, rows: Sequence[TrainingRow]) -> list[float]:
        """Return S_LP of each row's trained tokens (`algorithm.learning_potential`), in the rows'
        order; trains nothing."""
        return [learning_potential(logprobs) for logprobs in self.logprobs(rows)]

    def completion_logprobs(
        self, pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]
    ) -> list[list[float]]:
        """Return log-probabilities of (prompt ids, completion ids) pairs."""
        return self.logprobs(
            [TrainingRow(token_ids=prompt + done, prompt_len=len(prompt)) for prompt, done in pairs]
        )

    def export_weights(
        self, directory: Path, policy_version: int, bucket_bytes: int
    ) -> WeightManifest:
        """Write the weights where engines of this host can read them."""
        manifests = self._all("export_weights", directory, policy_version, bucket_bytes)
        return manifests[0]

    def send_weights(self, transfer: NativeTransfer) -> tuple[dict[str, str], int]:
        """Send the weights to engines on GPUs; return the digest of each, and their bytes."""
        sent: tuple[dict[str, str], int] = self._all("send_weights", transfer)[0]
        return sent

    def save(self, directory: Path) -> None:
        """Write the ranks' state into a checkpoint."""
        self._all("save", directory)

    def load(self, directory: Path) -> None:
        """Restore the ranks' state from a checkpoint."""
        self._all("load", directory)

    def export_model(self, directory: Path) -> None:
        """Write the policy in Hugging Face format."""
        self._all("export_model", directory)

    def close(self) -> None:
        """End the ranks."""
        for rank in self._ranks:
            ray.kill(rank)

    def _plan(self, rows: Sequence[TrainingRow]) -> list[list[list[int]]]:
        lengths = [len(row.token_ids) for row in rows]
        return plan_microbatches(lengths, self._config.max_tokens_per_microbatch, len(self._ranks))

    def _select(
        self, rows: Sequence[TrainingRow], microbatches: Sequence[Sequence[int]]
    ) -> list[list[TrainingRow]]:
        return [[rows[index] for index in indices] for indices in microbatches]

    def _all(self, method: str, *arguments: Any) -> list[Any]:
        calls = [getattr(rank, method).remote(*arguments) for rank in self._ranks]
        return self._wait(method.replace("_", " "), calls)

    def _wait(self, what: str, calls: list[Any]) -> list[Any]:
        try:
            return ray.get(calls, timeout=self._config.timeout_s)
        except ray.exceptions.GetTimeoutError as error:
            raise RuntimeError(
                f"learner: waited {self._config.timeout_s:.0f} s for {what} of {len(calls)} ranks; "
                "raise learner.timeout_s if the step is really that long"
            ) from error
        except ray.exceptions.RayActorError as error:
            raise RuntimeError(
                f"learner: a rank died while the driver waited for {what}; "
                "start the same command again to resume from the newest checkpoint"
            ) from error


def _metrics_of_updates(reports: "Sequence[UpdateReport]") -> dict[str, float]:
    if not reports:
        return {}
    ran = [report for report in reports if not report.is_skipped] or reports
    return {
        "learner/grad_norm": sum(report.grad_norm for report in ran) / len(ran),
        "learner/update_to_weight_ratio": max(r.update_to_weight_ratio for r in reports),
        "learner/lr": reports[-1].lr,
    }
