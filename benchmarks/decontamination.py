"""Speed and exactness of decontamination, against a plain search with Python sets.

python benchmarks/decontamination.py --against FOLDER [FILE ...] [--rows 1000000] [--sets 30]

Of a folder, every JSONL file whose rows have a problem is an evaluation set. Made-up sets of 1,000
problems are added until there are `--sets`.

Writes rows of 80 to 120 words, drawn by their frequency in the evaluation texts, so that nearly
all are known to the index. One row in 50 gets an n-gram of an evaluation text, which must be
found, and one in 50 all but a word of one, which must not. Then `mgpo decontaminate` is run on the
file in a process of its own, from reading to writing, and a sample of rows is searched by both
sides in turn. Prints rows a second, peak memory and the ratio; the exit code is 1 if a row is wrong
or a limit is missed.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate, islice
from multiprocessing import get_context
from pathlib import Path

from mgpo.config.errors import DataError
from mgpo.data.compared_texts import evaluation_rows
from mgpo.data.decontamination import EvaluationIndex, EvaluationRow, find_overlaps
from mgpo.data.words import split_words
from mgpo.stages import decontaminate

ROWS_PER_S_LIMIT = 20_000
PEAK_GIB_LIMIT = 4.0
SAMPLE_ROWS = 20_000
ONE_IN = 50
MADE_UP_ROWS, MADE_UP_WORDS = 1_000, 150
GUARD = "notanevaluationword"


def main() -> int:
    """Print speed, memory and ratio; exit code 1 if a row is wrong or a limit is missed."""
    args = _parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train, output, report = (
            Path(folder) / name for name in ("train.jsonl", "kept.jsonl", "drops.jsonl")
        )
        paths = list(_evaluation_sets(args.against))
        texts = _words_of(paths)
        paths += _write_sets(Path(folder), texts, args.sets - len(paths), args.seed)
        texts = _words_of(paths)
        planted = _write_rows(train, texts, args.rows, args.ngram, args.seed)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            summary, seconds, peak_gib = fresh.submit(
                _decontaminate, [str(train)], paths, output, report, args.ngram
            ).result()
        print(summary)
        rate = args.rows / seconds
        is_exact = _found(report) == planted
        ratio = _ratio_to_sets(train, texts, args.ngram)
    print(f"planted rows found, and no other: {is_exact} ({len(planted)} of {args.rows})")
    print(f"rows a second, index and files included: {rate:,.0f} (limit {ROWS_PER_S_LIMIT:,})")
    print(f"peak memory, GiB: {peak_gib:.2f} (limit {PEAK_GIB_LIMIT})")
    print(f"search alone, times as fast as Python sets: {ratio:.2f}")
    is_met = is_exact and rate >= ROWS_PER_S_LIMIT and peak_gib <= PEAK_GIB_LIMIT
    return 0 if is_met else 1


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, nargs="+", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sets", type=int, default=0)
    parser.add_argument("--ngram", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _decontaminate(
    train: Sequence[str], against: Sequence[str], output: Path, report: Path, ngram: int
) -> tuple[str, float, float]:
    """Return the summary, seconds of processor time and the peak memory of this process, GiB.

    Not `ru_maxrss`, in which a child begins with what its parent held.
    """
    started = time.process_time()
    summary = decontaminate.run(train, against, output, report, [], ngram=ngram)
    seconds = time.process_time() - started
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return summary, seconds, int(status["VmHWM"].split()[0]) / 2**20


def _evaluation_sets(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the files, and of each folder those whose rows can all be sought."""
    for path in paths:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            try:
                for _ in evaluation_rows([str(file)]):
                    pass
            except DataError as error:
                if not path.is_dir():
                    raise
                print(f"left out: {error}")
            else:
                yield str(file)


def _words_of(paths: Sequence[str]) -> list[list[str]]:
    return [split_words(text) for row in evaluation_rows(paths) for text in row.texts]


def _write_sets(folder: Path, texts: Sequence[Sequence[str]], count: int, seed: int) -> list[str]:
    """Write made-up evaluation sets, of words by their frequency in the real ones."""
    draw_words = _word_source(texts, random.Random(seed + 1))
    paths = [folder / f"made_up_{number}.jsonl" for number in range(count)]
    for path in paths:
        rows = [{"problem": " ".join(draw_words(MADE_UP_WORDS))} for _ in range(MADE_UP_ROWS)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [str(path) for path in paths]


def _word_source(texts: Sequence[Sequence[str]], rng: random.Random) -> Callable[[int], list[str]]:
    """Return what draws so many words, each by its frequency in the texts."""
    counts = Counter(word for words in texts for word in words)
    vocabulary, frequencies = list(counts), list(accumulate(counts.values()))
    return lambda count: rng.choices(vocabulary, cum_weights=frequencies, k=count)


def _write_rows(
    path: Path, texts: Sequence[Sequence[str]], num_rows: int, ngram: int, seed: int
) -> set[int]:
    """Write the rows and return the numbers, from 1 on, of those that must be found."""
    rng = random.Random(seed)
    draw_words = _word_source(texts, rng)
    sources = [words for words in texts if len(words) >= ngram]
    planted = set()
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, num_rows + 1):
            words = draw_words(rng.randint(80, 120))
            kind = rng.randrange(ONE_IN)
            if kind < 2:
                source = rng.choice(sources)
                start = rng.randint(0, len(source) - ngram)
                shared = source[start : start + ngram]
                if kind == 0:
                    planted.add(number)
                else:
                    shared = [GUARD, *shared[1:], GUARD]
                place = rng.randrange(len(words))
                words[place:place] = shared
            prompt, response = ", ".join(words[:40]), " ".join(words[40:]).capitalize()
            row = {"prompt": prompt, "response": response}
            if kind < 2 and place < 40:  # the border of two texts would part what was planted
                row = {"prompt": ", ".join(words).capitalize()}
            file.write(json.dumps(row) + "\n")
    return planted


def _found(report: Path) -> set[int]:
    with report.open(encoding="utf-8") as file:
        return {json.loads(line)["row"] for line in file}


def _ratio_to_sets(train: Path, texts: Sequence[Sequence[str]], ngram: int) -> float:
    """Return seconds of the plain search over seconds of the index, both from texts in memory."""
    with train.open(encoding="utf-8") as file:
        rows = [list(json.loads(line).values()) for line in islice(file, SAMPLE_ROWS)]
    known = {part for words in texts for part in _parts(words, ngram)}
    index = EvaluationIndex(
        [EvaluationRow(set_name="all", number=1, id=None, texts=[" ".join(t) for t in texts])],
        ngram,
    )
    seconds = {"sets": 0.0, "index": 0.0}
    for first in range(0, len(rows), 2_000):
        part = rows[first : first + 2_000]
        started = time.process_time()
        plain = [
            any(not known.isdisjoint(_parts(split_words(text), ngram)) for text in row)
            for row in part
        ]
        between = time.process_time()
        found = [
            bool(overlaps) for _, overlaps in find_overlaps(index, zip(part, part, strict=True))
        ]
        seconds["index"] += time.process_time() - between
        seconds["sets"] += between - started
        assert plain == found
    return seconds["sets"] / seconds["index"]


def _parts(words: Sequence[str], ngram: int) -> Iterator[str]:
    return (" ".join(words[i : i + ngram]) for i in range(len(words) - ngram + 1))


if __name__ == "__main__":
    sys.exit(main())
