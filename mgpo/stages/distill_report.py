"""What a distillation leaves behind: sft.jsonl, dropped.jsonl, report.json and report.txt."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgpo.algorithm.learning_potential import Bucket, ScoredTrace, Selection, percentile
from mgpo.config.distillation import DistillConfig
from mgpo.stages.traces import LostTrace, Trace
from mgpo.tracking.files import write_atomically
from mgpo.tracking.sample_store import SampleKey, StoredSample

ADDED_FIELDS = ("score", "teacher", "response_tokens")
"""Of the rows written, beside the fields that every row may have."""
_BINS = 10
_BAR_WIDTH = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Distilled:
    """Every sample and what became of it."""

    traces: Sequence[Trace]
    """Those that were scored."""
    lost: Sequence[LostTrace]
    """Those that were not."""
    scores: Mapping[SampleKey, float]
    selection: Selection

    @property
    def kept(self) -> list[Trace]:
        """The traces to learn from."""
        return [trace for trace in self.traces if trace.key not in self.selection.drops]

    def drop_counts(self, domain: str) -> dict[str, int]:
        """Return how many samples of a domain were dropped for each reason."""
        reasons = [each.reason for each in self.lost if each.domain == domain]
        reasons += [
            self.selection.drops[trace.key].reason
            for trace in self.traces
            if trace.domain == domain and trace.key in self.selection.drops
        ]
        return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def write_report(folder: Path, config: DistillConfig, distilled: Distilled) -> str:
    """Write all files into the run's folder, sft.jsonl last; return the summary."""
    drops = [_lost_record(each, config) for each in distilled.lost]
    drops += [
        _drop_record(trace, distilled, config)
        for trace in distilled.traces
        if trace.key in distilled.selection.drops
    ]
    report = {
        "student": config.student,
        "temperature": config.temperature,
        "kept": len(distilled.kept),
        "domains": {domain: _domain(domain, config, distilled) for domain in config.domains},
    }
    rows = [_row(trace, distilled, config) for trace in distilled.kept]
    write_atomically(folder / "dropped.jsonl", _lines(drops))
    write_atomically(folder / "report.json", json.dumps(report, indent=1) + "\n")
    summary = _summary(report)
    write_atomically(folder / "report.txt", f"{summary}\n\n{_histograms(report)}\n")
    write_atomically(folder / "sft.jsonl", _lines(rows))
    return f"{summary}\nrows for mgpo sft: {folder}/sft.jsonl   every drop: {folder}/dropped.jsonl"


def _lines(records: Sequence[Mapping[str, Any]]) -> str:
    # Escaped to ASCII: traces hold line separators and lone surrogates.
    return "".join(json.dumps(record) + "\n" for record in records)


def _row(trace: Trace, distilled: Distilled, config: DistillConfig) -> dict[str, Any]:
    row = trace.row
    return {
        "id": _trace_id(trace.sample),
        "prompt": [dict(message) for message in row.messages],
        "response": trace.sample.text,
        "reference": row.reference,
        "domain": row.domain,
        "reward": row.reward,
        **row.fields,
        "score": distilled.scores[trace.key],
        "teacher": config.teachers[trace.domain],
        "response_tokens": trace.num_tokens,
    }


def _trace_id(sample: StoredSample) -> str:
    return f"{sample.prompt_id}/{sample.sample_index}"


def _lost_record(lost: LostTrace, config: DistillConfig) -> dict[str, Any]:
    return {
        "id": _trace_id(lost.sample),
        "domain": lost.domain,
        "teacher": config.teachers[lost.domain],
        "reason": lost.reason,
        "detail": lost.detail,
        "response_tokens": None,
        "score": None,
    }


def _drop_record(trace: Trace, distilled: Distilled, config: DistillConfig) -> dict[str, Any]:
    drop = distilled.selection.drops[trace.key]
    return {
        "id": _trace_id(trace.sample),
        "domain": trace.domain,
        "teacher": config.teachers[trace.domain],
        "reason": drop.reason,
        "detail": drop.detail,
        "response_tokens": trace.num_tokens,
        "score": distilled.scores[trace.key],
    }


def _domain(domain: str, config: DistillConfig, distilled: Distilled) -> dict[str, Any]:
    num_kept = sum(trace.domain == domain for trace in distilled.kept)
    drops = distilled.drop_counts(domain)
    return {
        "teacher": config.teachers[domain],
        "sampled": num_kept + sum(drops.values()),
        "verified": sum(trace.domain == domain for trace in distilled.traces),
        "kept": num_kept,
        "dropped": drops,
        "buckets": [
            _bucket(bucket, distilled.selection)
            for bucket in distilled.selection.buckets
            if bucket.domain == domain
        ],
    }


def _bucket(bucket: Bucket, selection: Selection) -> dict[str, Any]:
    lengths = [trace.num_tokens for trace in bucket.traces]
    scores = [trace.score for trace in bucket.traces]
    kept = [trace for trace in bucket.traces if trace.key not in selection.drops]
    low, high = min(scores), max(scores)
    return {
        "tokens": [min(lengths), max(lengths)],
        "traces": len(scores),
        "kept": len(kept),
        "score_min": low,
        "score_median": percentile(scores, 50),
        "score_max": high,
        "outlier_above": bucket.outlier_above,
        "histogram": _counts(bucket.traces, low, high),
        "histogram_kept": _counts(kept, low, high),
    }


def _counts(traces: Sequence[ScoredTrace], low: float, high: float) -> list[int]:
    """Count scores in equal bins from the bucket's lowest to its highest."""
    counts = [0] * _BINS
    for trace in traces:
        share = (trace.score - low) / (high - low) if high > low else 0.0
        counts[min(_BINS - 1, int(share * _BINS))] += 1
    return counts


def _summary(report: Mapping[str, Any]) -> str:
    lines = []
    for name, domain in report["domains"].items():
        drops = ", ".join(f"{count} {reason}" for reason, count in domain["dropped"].items())
        share = 100 * domain["kept"] / report["kept"]
        lines.append(
            f"{name}: {domain['sampled']} sampled, {domain['verified']} verified, "
            f"{domain['kept']} kept ({share:.1f} % of all); dropped: {drops or 'none'}"
        )
    return "\n".join([*lines, f"{report['kept']} traces kept"])


def _histograms(report: Mapping[str, Any]) -> str:
    """Draw each bucket's scores: `#` kept, `.` dropped."""
    blocks = []
    for name, domain in report["domains"].items():
        for index, bucket in enumerate(domain["buckets"]):
            shortest, longest = bucket["tokens"]
            blocks.append(
                f"{name}, bucket {index}: {shortest} to {longest} tokens, {bucket['traces']} "
                f"traces, {bucket['kept']} kept; score of (#) kept and (.) dropped ones"
            )
            blocks += _bars(bucket)
    return "\n".join(blocks)


def _bars(bucket: Mapping[str, Any]) -> list[str]:
    low, width = bucket["score_min"], (bucket["score_max"] - bucket["score_min"]) / _BINS
    unit = max(1.0, max(bucket["histogram"]) / _BAR_WIDTH)
    lines = []
    pairs = zip(bucket["histogram"], bucket["histogram_kept"], strict=True)
    for place, (count, kept) in enumerate(pairs):
        length, filled = round(count / unit), round(kept / unit)
        bar = "#" * filled + "." * (length - filled)
        lines.append(f"  {low + place * width:8.4f}  {count:6}  {bar}".rstrip())
    return lines
