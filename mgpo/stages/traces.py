"""The samples of teachers as traces that a student could learn from, and those that it cannot."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mgpo.config.errors import DataError, UserError
from mgpo.data.chat import ChatEncoder, SftExample
from mgpo.data.rows import Row, SftRow
from mgpo.tracking.sample_store import SampleKey, StoredSample
from mgpo.tracking.score_store import ScoreKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """A correct sample of a teacher."""

    domain: str
    row: Row
    sample: StoredSample
    num_tokens: int
    """Of the response under the student's tokenizer, the end of the turn included."""
    num_all_tokens: int
    """The same with the prompt."""

    @property
    def key(self) -> SampleKey:
        """What tells it from every other trace of its stage."""
        return self.sample.key

    @property
    def score_key(self) -> ScoreKey:
        """The same with its text, without which a score says nothing."""
        digest = hashlib.sha256(self.sample.text.encode(errors="surrogatepass")).hexdigest()
        return (*self.key, f"{digest:.16}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LostTrace:
    """A sample that is not learnt from, and why."""

    domain: str
    sample: StoredSample
    reason: str
    detail: str = ""


def encode_trace(encoder: ChatEncoder, row: Row, text: str) -> SftExample:
    """Render a trace exactly as supervised training will. Raises DataError if that is refused."""
    return encoder.encode_sft(
        SftRow(id=row.id, messages=row.messages, response=text, where=row.where)
    )


def verify_traces(
    domain: str,
    rows: Sequence[Row],
    groups: Sequence[Sequence[StoredSample]],
    encoder: ChatEncoder,
    context: int | None,
) -> tuple[list[Trace], list[LostTrace]]:
    """Separate the traces that can be learnt from: correct, whole, each text once per prompt.

    `context` is the student's longest sequence in tokens; None: unknown. Raises UserError if a
    domain has no such trace.
    """
    traces: list[Trace] = []
    lost: list[LostTrace] = []
    for row, group in zip(rows, groups, strict=True):
        seen: dict[str, StoredSample] = {}
        for sample in group:
            reason, detail = _fault(sample, seen)
            if not reason:
                seen[sample.text] = sample
                found = _encoded(domain, row, sample, encoder, context)
                if isinstance(found, Trace):
                    traces.append(found)
                    continue
                reason, detail = found
            lost.append(LostTrace(domain=domain, sample=sample, reason=reason, detail=detail))
    if not traces:
        counts = ", ".join(f"{count} {reason}" for reason, count in count_reasons(lost).items())
        raise UserError(
            f"domain {domain}: none of its {len(lost)} traces can be learnt from ({counts}); "
            "sample more, take another teacher or other rows, or leave the domain out"
        )
    return traces, lost


def count_reasons(lost: Sequence[LostTrace]) -> Mapping[str, int]:
    """Return how many traces were lost for each reason."""
    reasons = [each.reason for each in lost]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def _fault(sample: StoredSample, seen: Mapping[str, StoredSample]) -> tuple[str, str]:
    """Return reason and detail; an empty reason for a trace that is right."""
    outcome = sample.outcome
    if not sample.is_valid:
        return "no verdict", outcome.reason
    if sample.is_truncated:
        return "truncated", f"{sample.num_tokens} tokens"
    if not sample.is_correct:
        return "wrong", outcome.reason
    if not sample.text.strip():
        return "blank", ""
    if sample.text in seen:
        return "duplicate", f"of sample {seen[sample.text].sample_index}"
    return "", ""


def _encoded(
    domain: str, row: Row, sample: StoredSample, encoder: ChatEncoder, context: int | None
) -> Trace | tuple[str, str]:
    try:
        example = encode_trace(encoder, row, sample.text)
    except DataError as error:  # its text spells a token that ends a turn
        return "not encodable", str(error)
    length = len(example.token_ids)
    if context is not None and length > context:
        return "too long", f"{length} tokens with the prompt, the student's context is {context}"
    return Trace(
        domain=domain,
        row=row,
        sample=sample,
        num_tokens=length - example.prompt_len,
        num_all_tokens=length,
    )


def cut_chunks(traces: Sequence[Trace], max_tokens: int) -> Iterator[Sequence[Trace]]:
    """Yield consecutive traces of at most `max_tokens` tokens together, or a single one."""
    first, total = 0, 0
    for index, trace in enumerate(traces):
        if index > first and total + trace.num_all_tokens > max_tokens:
            yield traces[first:index]
            first, total = index, 0
        total += trace.num_all_tokens
    if traces:
        yield traces[first:]
