"""Files that are whole or not there, also when the process is killed while it writes; and what may
be written into them."""

import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, flush it to disk, and rename it."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.writing")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def strict_json(value: Any) -> Any:
    """Make what a reward or a row brought along fit for all readers: objects as text, no NaN."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
