"""What `mgpo filter` leaves: the kept rows, a line for each dropped one, and the counts."""

import heapq
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mgpo.data.quality.types import Drop
from mgpo.data.row_store import RemainingRows
from mgpo.data.sources import Record
from mgpo.stages.filtering.outcomes import Outcome

KEPT, DROPPED, REPORT = "rows.jsonl", "dropped.jsonl", "report.json"


def publish(
    folder: Path, every: RemainingRows, kept: RemainingRows, outcomes: Sequence[Outcome]
) -> None:
    """Write the three files, the report last; each appears when all are whole.

    `every` holds all rows, `kept` those that are left, with the fields that filters added.
    """
    unfinished = {name: folder / f".{name}.unfinished" for name in (KEPT, DROPPED, REPORT)}
    counts = _Counts([outcome.name for outcome in outcomes])
    kept_numbers = iter(kept.numbers.tolist())
    next_kept = next(kept_numbers, None)
    drops = _drops(outcomes)
    with unfinished[KEPT].open("wb") as rows, unfinished[DROPPED].open("w") as dropped:
        for number, record in every.records():
            if number == next_kept:
                rows.write(kept.line(number))
                counts.keep(record)
                next_kept = next(kept_numbers, None)
                continue
            dropped_number, _, name, drop = next(drops)
            assert dropped_number == number, (dropped_number, number)
            dropped.write(json.dumps(_facts(record, name, drop), default=str) + "\n")
            counts.drop(record, name, drop)
    report = counts.report({outcome.name: outcome.untouched() for outcome in outcomes})
    unfinished[REPORT].write_text(json.dumps(report, indent=1) + "\n", encoding="ascii")
    for path in unfinished.values():
        _flush(path)
    for name, path in unfinished.items():
        os.replace(path, folder / name)


def _drops(outcomes: Sequence[Outcome]) -> Iterator[tuple[int, int, str, Drop]]:
    """Yield (number, place of the filter, its name, the drop) by number, which comes once."""
    return heapq.merge(
        *(_drops_of(order, outcome) for order, outcome in enumerate(outcomes)),
        key=lambda each: each[0],
    )


def _drops_of(order: int, outcome: Outcome) -> Iterator[tuple[int, int, str, Drop]]:
    for number, decision in outcome.decisions():
        if isinstance(decision, Drop):
            yield number, order, outcome.name, decision


def _facts(record: Record, name: str, drop: Drop) -> dict[str, Any]:
    return {
        "source": record.source,
        "row": record.number,
        "id": record.values["id"],
        "domain": record.values["domain"],
        "filter": name,
        "reason": drop.reason,
        "detail": drop.detail,
    }


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


class _Counts:
    def __init__(self, filters: Sequence[str]) -> None:
        self._kept: Counter[str] = Counter()
        self._dropped: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in filters}
        """Of each filter, by domain and reason."""

    def keep(self, record: Record) -> None:
        self._kept[record.values["domain"]] += 1

    def drop(self, record: Record, name: str, drop: Drop) -> None:
        self._dropped[name][record.values["domain"], drop.reason] += 1

    def report(self, untouched: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        dropped = {name: _by_domain(counts) for name, counts in self._dropped.items()}
        total = Counter(self._kept)
        for by_domain in dropped.values():
            for domain, reasons in by_domain.items():
                total[domain] += sum(reasons.values())
        return {
            "in": dict(sorted(total.items())),
            "filters": [
                {
                    "name": name,
                    "dropped": by_domain,
                    "untouched": dict(sorted(untouched[name].items())),
                }
                for name, by_domain in dropped.items()
            ],
            "kept": dict(sorted(self._kept.items())),
        }


def _by_domain(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    for (domain, reason), number in sorted(counts.items()):
        result.setdefault(domain, {})[reason] = number
    return result


def summarize_filters(folder: Path) -> str:
    """Return the report of a finished run as a table: rows by domain, in, dropped, kept."""
    report = json.loads((folder / REPORT).read_text(encoding="ascii"))
    lines = [_line("in", report["in"], report["in"])]
    notes: list[str] = []
    for each in report["filters"]:
        sums = {domain: -sum(reasons.values()) for domain, reasons in each["dropped"].items()}
        lines.append(_line(each["name"], sums, report["in"]))
        notes += _notes(each)
    lines.append(_line("kept", report["kept"], report["in"]))
    head = _cells("", "all", *report["in"])
    return "\n".join([head, *lines, *notes, f"rows {folder / KEPT}   dropped {folder / DROPPED}"])


def _line(name: str, counts: Mapping[str, int], domains: Mapping[str, int]) -> str:
    values = [counts.get(domain, 0) for domain in domains]
    return _cells(name, str(sum(values)), *map(str, values))


def _cells(name: str, *values: str) -> str:
    return f"{name:<18}" + "".join(f"{value:>12}" for value in values)


def _notes(each: Mapping[str, Any]) -> Iterator[str]:
    reasons: Counter[str] = Counter()
    for by_reason in each["dropped"].values():
        reasons.update(by_reason)
    if reasons:
        yield f"{each['name']} dropped: " + _listed(reasons)
    if each["untouched"]:
        yield f"{each['name']} left untouched: " + _listed(each["untouched"])


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
