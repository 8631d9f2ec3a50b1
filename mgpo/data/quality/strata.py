"""Rows by domain, length and difficulty, and how many of each are drawn."""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mgpo.config.errors import DataError
from mgpo.config.quality import StrataConfig
from mgpo.data.quality.accuracy import error_rate
from mgpo.data.quality.shares import share_out
from mgpo.data.quality.types import Drop, Record, name_of, number_of, response_of

_MAX_DIFFICULTY = 1e9


@dataclass(frozen=True, slots=True, order=True)
class Stratum:
    """Where a row belongs. Strata count from 0, short and easy first; -1: unknown."""

    domain: str
    length: int
    difficulty: int

    @property
    def fields(self) -> dict[str, int]:
        """What a row gets."""
        return {"length_stratum": self.length, "difficulty_stratum": self.difficulty}


def assign_strata(
    rows: Iterable[Record], config: StrataConfig, length_of: Callable[[str], int]
) -> list[Stratum]:
    """Return the stratum of each row; the rows are read once, and not kept.

    Lengths (`length_of` the response: tokens or characters) are cut at the quantiles of the row's
    domain, and equal ones stay together, so that strata may be of unequal size. Difficulty is cut
    at `difficulty_edges`; an edge belongs to the harder side.
    """
    measured: list[tuple[str, int | None, int]] = []
    lengths: dict[str, list[int]] = defaultdict(list)
    for record in rows:
        domain, response = str(record.get("domain") or ""), response_of(record)
        length = None if response is None else length_of(response)
        measured.append((domain, length, _difficulty(record, config)))
        if length is not None:
            lengths[domain].append(length)
    edges = {name: _quantiles(values, config.num_lengths) for name, values in lengths.items()}
    return [
        Stratum(domain, -1 if length is None else bisect_right(edges[domain], length), difficulty)
        for domain, length, difficulty in measured
    ]


def _quantiles(values: Sequence[int], count: int) -> list[int]:
    """Return the values at which the second and every later of `count` equal parts begins."""
    ordered = sorted(values)
    return [ordered[part * len(ordered) // count] for part in range(1, count)]


def _difficulty(record: Record, config: StrataConfig) -> int:
    if config.difficulty_from == "accuracy":
        value = error_rate(record)
    else:
        value = number_of(record, "difficulty", -_MAX_DIFFICULTY, _MAX_DIFFICULTY)
    return -1 if value is None else bisect_right(config.difficulty_edges, value)


def draw_rows(
    rows: Sequence[Record], strata: Sequence[Stratum], config: StrataConfig, seed: int
) -> dict[int, Drop]:
    """Return, by position, a drop for each row that is not drawn from its stratum.

    A row is drawn by a hash of the seed and its id, whatever the order of the rows; whoever draws
    more gets the same rows and further ones. Rows need an id. Reason: not_drawn.
    """
    members: dict[Stratum, list[int]] = defaultdict(list)
    for position, stratum in enumerate(strata):
        members[stratum].append(position)
    counts = _counts_to_draw({each: len(members[each]) for each in sorted(members)}, config)
    drops = {}
    for stratum, positions in members.items():
        positions.sort(key=lambda position: (_draw_key(rows[position], seed), position))
        for position in positions[counts[stratum] :]:
            detail = {"domain": stratum.domain, **stratum.fields, "drawn": counts[stratum]}
            drops[position] = Drop("not_drawn", {**detail, "of": len(positions)})
    return dict(sorted(drops.items()))


def _counts_to_draw(sizes: Mapping[Stratum, int], config: StrataConfig) -> Mapping[Stratum, int]:
    cap = config.max_rows_per_stratum
    most = {each: size if cap is None else min(size, cap) for each, size in sizes.items()}
    if config.num_rows is None:
        return most
    weights = {
        each: _weight(config.length_shares, each.length)
        * _weight(config.difficulty_shares, each.difficulty)
        for each in sizes
    }
    return share_out(config.num_rows, weights, most)


def _weight(shares: Sequence[float], stratum: int) -> float:
    """Strata that are unknown, or without given shares, weigh 1."""
    return shares[stratum] if shares and stratum >= 0 else 1.0


def _draw_key(record: Record, seed: int) -> bytes:
    if record.get("id") is None:
        raise DataError(f"{name_of(record)}, field id: missing; rows are drawn by their ids")
    return hashlib.blake2b(f"{seed}|{record['id']}".encode(), digest_size=8).digest()
