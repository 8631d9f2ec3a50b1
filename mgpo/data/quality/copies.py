"""Responses to one prompt that are copies of each other, in whole or in their opening."""

from collections import Counter
from collections.abc import Sequence

from mgpo.config.quality import CopiesConfig
from mgpo.data.quality.prompts import prompt_key
from mgpo.data.quality.types import Drop, Record, response_of
from mgpo.data.words import split_words

_Ngrams = frozenset[tuple[str, ...]]


def find_copies(rows: Sequence[Record], config: CopiesConfig) -> dict[int, Drop]:
    """Return, by position, a drop for each response that is a copy of an earlier, kept one.

    Only responses to the same prompt are compared, each with each: time grows with the square of
    their number, memory with their total length. Reasons: copied_response, templated_opening.
    """
    positions_of: dict[bytes, list[int]] = {}
    for position, record in enumerate(rows):
        if response_of(record) is not None:
            positions_of.setdefault(prompt_key(record), []).append(position)
    drops: dict[int, Drop] = {}
    for positions in positions_of.values():
        if len(positions) > 1:
            drops |= _find_among(rows, positions, config)
    return dict(sorted(drops.items()))


def _find_among(
    rows: Sequence[Record], positions: Sequence[int], config: CopiesConfig
) -> dict[int, Drop]:
    drops = {}
    kept: list[tuple[int, _Ngrams]] = []
    openings: Counter[tuple[str, ...]] = Counter()
    for position in positions:
        words = split_words(response_of(rows[position]) or "")
        ngrams = _ngrams(words, config.ngram)
        drop = _copy_of_kept(rows, kept, ngrams, config) or _templated(words, openings, config)
        if drop is not None:
            drops[position] = drop
            continue
        kept.append((position, ngrams))
        openings[tuple(words[: config.opening_words])] += 1
    return drops


def _copy_of_kept(
    rows: Sequence[Record],
    kept: Sequence[tuple[int, _Ngrams]],
    ngrams: _Ngrams,
    config: CopiesConfig,
) -> Drop | None:
    for position, others in kept:
        similarity = _jaccard(ngrams, others)
        if similarity > config.max_similarity:
            detail = {"copy_of": rows[position].get("id"), "similarity": round(similarity, 3)}
            return Drop("copied_response", detail)
    return None


def _templated(
    words: Sequence[str], openings: Counter[tuple[str, ...]], config: CopiesConfig
) -> Drop | None:
    """Only a response that goes on after its opening has one."""
    opening = tuple(words[: config.opening_words])
    if len(words) <= config.opening_words or openings[opening] < config.max_same_openings:
        return None
    return Drop(
        "templated_opening",
        {"opening": " ".join(opening[:12]), "words": len(opening), "rows": openings[opening]},
    )


def _ngrams(words: Sequence[str], ngram: int) -> _Ngrams:
    """The n-grams of a text; of one that is shorter, all its words as one."""
    if len(words) < ngram:
        return frozenset([tuple(words)])
    return frozenset(zip(*(words[offset:] for offset in range(ngram)), strict=False))


def _jaccard(one: _Ngrams, other: _Ngrams) -> float:
    """The size of the intersection over that of the union."""
    num_shared = len(one & other)
    return num_shared / (len(one) + len(other) - num_shared)
