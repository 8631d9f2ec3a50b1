"""Asks the model about its trajectories; every answer is on disk when it comes."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mgpo.config.clr import ClaimCallConfig
from mgpo.config.errors import UserError
from mgpo.data.claim_prompts import CallProblem
from mgpo.data.rows import Row
from mgpo.stages.generation import generate_missing, is_complete
from mgpo.stages.sample_sources import SampleSource, Wanted
from mgpo.tracking.sample_store import SampleStore, StoredSample
from mgpo.types import Prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about a trajectory."""

    subject: str
    """What it is about; with `index` it tells the question from all others of its kind."""
    index: int
    text: str

    def as_row(self) -> Row:
        """Return it as a task that nobody grades; its id follows from all that is asked, so that
        another text is another question."""
        digest = hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()[:16]
        return Row(
            id=f"{self.subject}/{digest}",
            messages=({"role": "user", "content": self.text},),
            domain="",
            reward="",
            reference=None,
            fields={},
            where=f"the question about {self.subject}, {self.index}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What came of a question."""

    text: str
    problem: CallProblem | None
    """Why `text` is not to be read; None: it is whole."""
    num_tokens: int
    """Sampled tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """A model that can be asked."""

    render: Callable[[Row], Prompt | None]
    """Returns a question as the model reads it; None where it leaves no room for an answer."""
    open_source: Callable[[], SampleSource]
    """Called when an answer is missing."""

    def ask(
        self, questions: Sequence[Question], config: ClaimCallConfig, path: Path, title: str
    ) -> list[Reply]:
        """Return a reply to each question, those in the JSON-lines file `path` included.

        Raises UserError when more calls end without an answer than `max_failed_share` allows.
        """
        prompts = [self.render(question.as_row()) for question in questions]
        places = [
            None if prompt is None else Wanted(prompt, question.index)
            for prompt, question in zip(prompts, questions, strict=True)
        ]
        wanted = [place for place in places if place is not None]
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(SampleStore(path)) as store:
            if not is_complete(store, wanted):
                source = self.open_source()
                for _, sample in generate_missing(store, source, wanted, config.sampling(), title):
                    store.add([sample])
            answers = [None if place is None else store.find(place.key) for place in places]
        num_lost = len(wanted) - sum(answer is not None for answer in answers)
        if num_lost > config.max_failed_share * len(wanted):
            raise UserError(
                f"{title}: {num_lost} of {len(wanted)} calls brought no answer (see the log), more "
                f"than {config.section}.max_failed_share={config.max_failed_share}; the same "
                "command tries them again"
            )
        return [_reply(place, answer) for place, answer in zip(places, answers, strict=True)]


def _reply(place: Wanted | None, answer: StoredSample | None) -> Reply:
    if answer is None:
        return Reply(text="", problem="too_long" if place is None else "lost", num_tokens=0)
    return Reply(
        text=answer.text,
        problem="cut" if answer.is_truncated else None,
        num_tokens=answer.num_tokens,
    )
