"""One line per step, and a progress bar where somebody watches."""

import logging
import sys
import time
from collections.abc import Mapping

from tqdm import tqdm

logger = logging.getLogger(__name__)

_SHOWN = (
    ("reward/accuracy", "accuracy", "{:.3f}"),
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

    def __init__(self, total_steps: int, *, progress_bar: bool) -> None:
        self._total = total_steps
        self._started = time.monotonic()
        self._first_step: int | None = None
        is_watched = progress_bar and sys.stderr.isatty()
        self._bar = tqdm(total=total_steps, unit="step", disable=not is_watched)

    def write(self, step: int, values: Mapping[str, float | None]) -> None:
        """Log one step."""
        shown = [
            f"{label} {form.format(value)}"
            for key, label, form in _SHOWN
            if (value := values.get(key)) is not None
        ]
        logger.info("step %d/%d  %s%s", step, self._total, "  ".join(shown), self._remaining(step))
        self._bar.update(step - self._bar.n)

    def _remaining(self, step: int) -> str:
        if self._first_step is None:
            self._first_step = step
            return ""
        rate_s = (time.monotonic() - self._started) / max(1, step - self._first_step + 1)
        return f"  left {(self._total - step) * rate_s / 60:.1f} min"

    def close(self) -> None:
        """Take the bar off the screen."""
        self._bar.close()
