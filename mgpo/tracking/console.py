"""One line per step, and a progress bar where somebody watches."""

import logging
import sys
from contextlib import ExitStack
from statistics import fmean

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from mgpo.tracking.metrics import Record

logger = logging.getLogger(__name__)

_SHOWN = (
    ("reward/accuracy", "accuracy", "{:.3f}"),
    ("reward/mean", "reward", "{:.3f}"),
    ("reward/error_rate", "errors", "{:.1%}"),
    ("eval/accuracy", "held-out", "{:.3f}"),
    ("loss/policy", "loss", "{:+.4f}"),
    ("loss/sft", "loss", "{:.4f}"),
    ("loss/entropy", "entropy", "{:.3f}"),
    ("learner/grad_norm", "grad", "{:.3f}"),
    ("mismatch/kl_k3", "mismatch kl", "{:.1e}"),
    ("rollout/completion_tokens_mean", "length", "{:.0f}"),
    ("rollout/truncated_share", "truncated", "{:.1%}"),
    ("rollout/tokens_per_s", "rollout tok/s", "{:,.0f}"),
    ("learner/tokens_per_s", "learner tok/s", "{:,.0f}"),
    ("time/step_s", "step", "{:.1f} s"),
)


class ConsoleWriter:
    """Logs the few numbers that tell whether a run is healthy."""

    def __init__(self, total_steps: int, resumed_step: int | None, *, progress_bar: bool) -> None:
        self._total = total_steps
        self._step_times: list[float] = []
        self._closing = ExitStack()
        is_watched = progress_bar and sys.stderr.isatty()
        if is_watched:  # log lines go above the bar instead of through it
            self._closing.enter_context(logging_redirect_tqdm())
        self._bar = tqdm(
            total=total_steps, initial=resumed_step or 0, unit="step", disable=not is_watched
        )
        self._closing.callback(self._bar.close)

    def write(self, step: int, record: Record) -> None:
        """Log one step."""
        shown = [
            f"{label} {form.format(value)}"
            for key, label, form in _SHOWN
            if (value := record.get(key)) is not None
        ]
        shown += self._remaining(step, record["time/step_s"] or 0.0)
        logger.info("step %d/%d  %s", step, self._total, "  ".join(shown))
        self._bar.update(step - self._bar.n)

    def close(self) -> None:
        """Take the bar off the screen."""
        self._closing.close()

    def _remaining(self, step: int, step_s: float) -> list[str]:
        if step == 0:  # an evaluation alone says nothing about the time of a step
            return []
        self._step_times.append(step_s)
        return [f"left {(self._total - step) * fmean(self._step_times) / 60:.1f} min"]
