"""Prompts compared by what they say, not by how they are laid out."""

import hashlib
import json
import unicodedata
from collections.abc import Sequence

from mgpo.config.errors import DataError
from mgpo.data.quality.types import Drop, Record, name_of


def prompt_key(record: Record) -> bytes:
    """Return a digest that prompts share when they differ in case and white space only.

    A string is the same as one user message. Symbols count, as 5+3 is not 5-3, and so do the forms
    that NFKC would unify, as 3 squared is not 32. Raises DataError for a prompt that is neither
    text nor chat messages.
    """
    messages = _messages(record)
    texts = [(role, _plain(content)) for role, content in messages]
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=16).digest()


def _messages(record: Record) -> list[tuple[str, str]]:
    prompt = record.get("prompt")
    if isinstance(prompt, str):
        return [("user", prompt)]
    try:
        messages = [(message["role"], message["content"]) for message in prompt or ()]
    except (TypeError, KeyError) as error:
        raise _error(record) from error
    is_text = all(isinstance(part, str) for message in messages for part in message)
    if not messages or not is_text:
        raise _error(record)
    return messages


def _error(record: Record) -> DataError:
    return DataError(
        f"{name_of(record)}, field prompt: must be text or chat messages with role and content, "
        f"got {record.get('prompt')!r:.80}"
    )


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def find_duplicate_prompts(rows: Sequence[Record]) -> dict[int, Drop]:
    """Return, by position, a drop for each row whose prompt an earlier row has.

    For data with one row a prompt; several responses to a prompt are what `find_copies` is for.
    The detail says whether the references differ too: then one of the two is likely wrong.
    """
    first_of: dict[bytes, int] = {}
    drops = {}
    for position, record in enumerate(rows):
        first = first_of.setdefault(prompt_key(record), position)
        if first != position:
            has_same = record.get("reference") == rows[first].get("reference")
            detail = {"same_as": rows[first].get("id"), "same_reference": has_same}
            drops[position] = Drop("duplicate_prompt", detail)
    return drops
