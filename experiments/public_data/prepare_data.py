"""Makes the data files of the VibeThinker recipes from public data sets of the Hugging Face hub.

python -m experiments.public_data.prepare_data --output data/vibethinker_3b [--files sft.jsonl ...]

The data of the reports are unpublished; these sets stand in for them, by our choice (README.md).
Rows are streamed, checked as the stages will check them, and published whole: a file is there or it
is not.
"""

import argparse
import hashlib
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from experiments.public_data.converters import without_instruction
from experiments.public_data.sets import FILES, SOURCES, File, Source
from mgpo.config.data import RowsConfig
from mgpo.config.errors import DataError, UserError
from mgpo.data.inputs import check_rewards
from mgpo.data.rows import row_of
from mgpo.data.sources import Record
from rewards.config import RewardConfig

Reader = Callable[[Source], Iterable[Mapping[str, Any]]]
CountTokens = Callable[[str], int]
Row = dict[str, Any]

logger = logging.getLogger(__name__)

_HELD_OUT_ONE_IN = 100
_MAX_REFERENCE_CHARS = 4_000_000
"""Larger tests would make every grading slow."""
_LOG_EVERY = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    args = _make_parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        counts = prepare(
            args.output, args.files, read_hub, token_counter(args.tokenizer), limit=args.limit
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(counts))
    return 0


def prepare(
    output: Path,
    names: Sequence[str],
    read: Reader,
    count_tokens: CountTokens,
    *,
    limit: int | None = None,
) -> dict[str, Counter[str]]:
    """Write the files of those names below `output` and return what became of each source's rows.

    `limit`: take the first so many rows of each source, for a trial. Raises DataError for a source
    whose rows are not laid out as expected, and for a file that gets no row.
    """
    output.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Counter[str]] = {}
    with ExitStack() as stack:
        files = {name: stack.enter_context(_Writer(output / name, FILES[name])) for name in names}
        for source in SOURCES:
            if not source.files & files.keys():
                continue
            counts[source.name] = Counter()
            for row in _rows(
                source, _first(read(source), source.max_rows, limit), counts[source.name]
            ):
                for name in _places(source, row):
                    if name in files:
                        counts[source.name][files[name].add(row, count_tokens)] += 1
        empty = [name for name, file in files.items() if not file.num_rows]
        if empty:
            raise DataError(f"no row for {', '.join(empty)}: {table(counts)}")
        for file in files.values():
            file.publish()
    return counts


def read_hub(source: Source) -> Iterable[Mapping[str, Any]]:
    """Stream a data set from the hub. Raises DataError."""
    import datasets

    try:
        rows: Iterable[Mapping[str, Any]] = datasets.load_dataset(
            source.dataset,
            source.config,
            split=source.split,
            data_files=list(source.data_files) or None,
            streaming=True,
        )
    except (datasets.exceptions.DatasetsError, OSError, ValueError) as error:
        raise DataError(f"{source.dataset}: cannot be loaded: {error}") from error
    return rows


def token_counter(tokenizer: str) -> CountTokens:
    """Return a function that counts the tokens of a text."""
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"--tokenizer {tokenizer}: cannot be loaded: {reason}") from error
    return lambda text: len(loaded(text, add_special_tokens=False)["input_ids"])


def is_held_out(row: Mapping[str, Any]) -> bool:
    """Whether a prompt is one of those that nothing is trained on: one in a hundred, by a hash."""
    return int.from_bytes(_digest(row), "big") % _HELD_OUT_ONE_IN == 0


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Return what became of each source's rows, a line each."""
    return "\n".join(
        f"{name}: " + ", ".join(f"{what} {number}" for what, number in sorted(counter.items()))
        for name, counter in counts.items()
    )


def _first(rows: Iterable[Mapping[str, Any]], *limits: int | None) -> Iterator[Mapping[str, Any]]:
    return islice(rows, min((limit for limit in limits if limit is not None), default=None))


def _rows(
    source: Source, values: Iterable[Mapping[str, Any]], counter: Counter[str]
) -> Iterator[Row]:
    """Yield a source's rows as ours, those that a reward could not grade left out and counted."""
    for number, given in enumerate(values, start=1):
        counter["read"] += 1
        if number % _LOG_EVERY == 0:
            logger.info("%s: %d rows read", source.name, number)
        try:
            rows = source.convert(given, f"{source.name}-{number}")
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"{source.dataset}, row {number}: not laid out as expected "
                f"({type(error).__name__}: {error}), columns {', '.join(given)}; "
                f"mend its converter"
            ) from error
        if not rows:
            counter["of no use here"] += 1
        for row in rows:
            problem, detail = _objection(row)
            if problem is None:
                yield row
                continue
            if not counter[problem]:
                logger.warning(
                    "%s: the first row that is left out: %s: %s", row["id"], problem, detail
                )
            counter[problem] += 1


def _objection(row: Row) -> tuple[str | None, str]:
    """Return why a row could not be used, or None, and what is known beyond that."""
    if "response" in row and not row["response"].strip():
        return "empty response", ""
    if "reference" not in row:
        return None, ""
    if row["reference"] in (None, ""):
        return "no answer", ""
    size = len(json.dumps(row["reference"]))
    if size > _MAX_REFERENCE_CHARS:
        return "tests too large", f"{size} characters, more than {_MAX_REFERENCE_CHARS}"
    try:
        record = Record(values=row, number=1, source="rows.jsonl", where=row["id"])
        check_rewards([row_of(record, RowsConfig())], RewardConfig())
    except DataError as error:
        return "cannot be graded", str(error)
    return None, ""


def _places(source: Source, row: Row) -> Sequence[str]:
    if not source.is_split or not is_held_out(row):
        return source.train
    subdomain = row.get("subdomain")
    if subdomain is None and any("*" in name for name in source.held_out):
        return ()
    return [name.replace("*", subdomain or "") for name in source.held_out]


def _digest(row: Mapping[str, Any]) -> bytes:
    """Of the prompt, whatever its white space and whether it is text or messages."""
    prompt = row["prompt"]
    if not isinstance(prompt, str):
        prompt = "\n".join(message["content"] for message in prompt)
    return hashlib.blake2b(" ".join(prompt.split()).encode(), digest_size=8).digest()


class _Writer:
    """A file that is written beside its place until it is whole."""

    def __init__(self, path: Path, rules: File) -> None:
        self._path, self._rules = path, rules
        self._temporary = path.with_name(f".{path.name}.writing")
        self._seen: set[bytes] = set()
        self.num_rows = 0

    def __enter__(self) -> "_Writer":
        self._file: TextIO = self._temporary.open("w", encoding="utf-8")
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, row: Row, count_tokens: CountTokens) -> str:
        """Write a row unless a rule forbids it; return what was done, in words."""
        rules = self._rules
        if rules.max_rows is not None and self.num_rows >= rules.max_rows:
            return f"not needed in {self._path.name}"
        if self._is_too_long(row, count_tokens):
            return f"too long for {self._path.name}"
        if rules.is_unique and "prompt" in row:
            digest = _digest(row)
            if digest in self._seen:
                return f"twice in {self._path.name}"
            self._seen.add(digest)
        if rules.is_text:
            row = {"id": row["id"], "prompt": without_instruction(row["prompt"])}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.num_rows += 1
        return f"-> {self._path.name}"

    def publish(self) -> None:
        """Put the file in its place."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._temporary.replace(self._path)

    def _is_too_long(self, row: Row, count_tokens: CountTokens) -> bool:
        prompt = row.get("prompt", "")
        text = prompt if isinstance(prompt, str) else "\n".join(m["content"] for m in prompt)
        if _exceeds(text, self._rules.max_prompt_tokens, count_tokens):
            return True
        whole = text + row.get("response", "")
        return self._rules.max_tokens is not None and _exceeds(
            whole, self._rules.max_tokens, count_tokens
        )


def _exceeds(text: str, limit: int, count_tokens: CountTokens) -> bool:
    # A token is a byte or more, so most texts need no counting.
    return len(text.encode()) > limit and count_tokens(text) > limit


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--files", nargs="+", choices=list(FILES), default=list(FILES), help="which; default: all"
    )
    parser.add_argument(
        "--tokenizer", default="Qwen/Qwen2.5-Coder-3B", help="model whose tokens are counted"
    )
    parser.add_argument("--limit", type=int, help="rows of each source, for a trial")
    return parser


if __name__ == "__main__":
    sys.exit(main())
